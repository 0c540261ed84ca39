// SPDX-License-Identifier: Apache-2.0
// Three tables: a matrix of variants and dtypes, every key with its claim, and the input families.
#include <fmt/format.h>

#include <map>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

// One row per variant, three columns per dtype.
std::string matrix(const Context& c, const std::string& backend) {
  std::string top, under;
  for (const std::string& d : c.dtypes) {
    top += fmt::format("<th class=\"group edge\" colspan=\"3\">{}</th>", escape(d));
    under +=
        "<th class=\"n edge\">ULP, real</th><th class=\"n\">ULP, all</th><th class=\"n\">error/bound without "
        "the last rounding</th>";
  }
  std::string rows;
  for (const std::string& variant : c.variants) {
    std::string cells;
    const KeyInfo* info = nullptr;
    std::int64_t records = 0, passed = 0, unsupported = 0, bad = 0;
    for (const std::string& d : c.dtypes) {
      const KeyTally* k = c.find_key(variant, d, backend);
      if (k && !info) info = &k->info;
      if (!k || !k->ran()) {
        // A dash is no gap: the variant has no such key.
        cells += fmt::format(
            "<td class=\"n edge mute\">{0}</td><td class=\"n mute\">{1}</td><td class=\"n "
            "mute\">{1}</td>",
            k ? "not run" : kDash, kDash);
        continue;
      }
      std::string ulp = extreme_cell(k->real(&Record::max_ulp), false);
      ulp.replace(ulp.find("class=\"n\""), 9, "class=\"n edge\"");
      cells += ulp + extreme_cell(k->all(&Record::max_ulp), false) + ratio_cell(k->excess, false);
      records += k->records(), passed += k->passed(), bad += k->bad();
      unsupported += k->status[Status::unsupported];
    }
    if (!info) continue;
    std::string judged = fmt::format("<td class=\"n edge{}\" data-v=\"{}\">{} / {}", bad ? " bad" : "",
                                     passed, grouped(passed), grouped(records));
    if (unsupported) judged += fmt::format("<small>{} unsupported</small>", grouped(unsupported));
    rows += fmt::format("<tr><th>{}<small>{}; exp {}; {} accesses</small></th>{}{}</td></tr>",
                        variant_link(c, variant), escape(info->algorithm), escape(info->exp),
                        escape(info->accesses), cells, judged);
  }
  if (rows.empty()) return "";
  return scroll(
      fmt::format("<table><thead><tr><th></th>{}<th class=\"edge\"></th></tr><tr><th>variant</th>"
                  "{}<th class=\"n edge\">pass / records</th></tr></thead><tbody>{}</tbody></table>",
                  top, under, rows));
}

std::string key_cell(const KeyTally& k) {
  std::string out = "<th><code>" + escape(k.info.key) + "</code>";
  if (!k.info.not_run.empty()) out += "<small>not run: " + escape(shorten(k.info.not_run, 80)) + "</small>";
  return out + "</th>";
}

std::string passed_cell(const KeyTally& k) {
  return fmt::format("<td class=\"n{}\" data-v=\"{}\">{} / {}</td>", k.bad() ? " bad" : "", k.passed(),
                     grouped(k.passed()), grouped(k.records()));
}

std::string rounded_cell(const KeyTally& k) {
  if (!(k.elements > 0)) return number_cell(std::nullopt);
  const double share = k.rounded / k.elements;
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", share, escape(plain_percent(share)));
}

template <std::string KeyInfo::*word>
std::string word_cell(const KeyTally& k) {
  return "<td class=\"nw\">" + escape(k.info.*word) + "</td>";
}

template <std::optional<double> Figures::*figure>
std::string real_cell(const KeyTally& k) {
  return extreme_cell(k.real(figure), false);
}

struct Column {
  const char* heading;  // starts with '#' if the column holds numbers
  std::string (*cell)(const KeyTally& k);
};

constexpr Column kColumns[] = {
    {"key", key_cell},
    {"#error/bound without the last rounding", [](const KeyTally& k) { return ratio_cell(k.excess, true); }},
    {"#error/bound", [](const KeyTally& k) { return ratio_cell(k.bound, true); }},
    {"#pass / records", passed_cell},
    {"#ULP, real logits", [](const KeyTally& k) { return extreme_cell(k.real(&Record::max_ulp), true); }},
    {"#ULP, all families", [](const KeyTally& k) { return extreme_cell(k.all(&Record::max_ulp), true); }},
    {"#p99 ULP, real", real_cell<&Record::p99_ulp>},
    {"#correctly rounded", rounded_cell},
    {"algorithm", word_cell<&KeyInfo::algorithm>},
    {"exp", word_cell<&KeyInfo::exp>},
    {"division", word_cell<&KeyInfo::division>},
    {"internals", word_cell<&KeyInfo::internals>},
    {"accesses", word_cell<&KeyInfo::accesses>},
    {"determinism", word_cell<&KeyInfo::determinism>},
    {"special values", word_cell<&KeyInfo::policy>},
};

std::string key_table(const Context& c, const std::string& backend) {
  std::vector<const char*> headings;
  for (const Column& column : kColumns) headings.push_back(column.heading);
  std::string rows;
  for (const KeyTally* k : c.keys) {
    if (k->info.backend != backend) continue;
    rows += "<tr>";
    for (const Column& column : kColumns) rows += column.cell(*k);
    rows += "</tr>";
  }
  return rows.empty() ? "" : scroll(open_table(headings) + "<tbody>" + rows + "</tbody></table>");
}

}  // namespace

std::string variants_by_dtype(const Context& c) {
  return "<p><b>error/bound without the last rounding tells kernels apart.</b> Rounding the output may cost "
         "any kernel half an ulp, so half an ulp is left out of the error and of the bound. With it, a right "
         "kernel of 16 bits has an error/bound near 1, however exact it is. The whole error/bound, in the "
         "second table, is the limit: if it is at most 1, every judged element, row sum and ratio is within "
         "the error that is proved for that algorithm. ULP alone misleads. A "
         "<em>right</em> kernel has a large ULP error on rows of wide range, because x &minus; m is rounded "
         "once before the exponential. So there are two columns for ULP: <em>real</em> is the largest error "
         "on logits and attention scores of real networks, <em>all</em> is the largest error on any family. "
         "A dash means that there is nothing to measure: a top-k of the logits is right or wrong. Hold the "
         "pointer over a number to see its family and V (row length). Click a heading to sort.</p>" +
         per_backend(c, matrix) + "<h3>Every key and its claim</h3>" +
         "<p>Below each largest value are its family and V. The bound of a key is derived from its "
         "claim.</p>" +
         per_backend(c, key_table);
}

std::string families(const Context& c) {
  struct Line {
    std::int64_t records = 0, passed = 0;
    Extreme excess, bound, ulp;
  };
  std::map<std::string, Line> lines;
  for (const KeyTally* k : c.keys)
    for (const auto& [family, its] : k->families) {
      Line& l = lines[family];
      l.records += its.records, l.passed += its.passed;
      l.excess.take(its.excess), l.bound.take(its.bound), l.ulp.take(its.ulp);
    }
  const auto where = [](const Extreme& e) {
    return e.any() ? fmt::format("<small>{}, V&nbsp;{}</small>", escape(e.key), grouped(e.V)) : "";
  };
  const auto value = [](const Extreme& e) { return e.any() ? std::optional(e.value) : std::nullopt; };
  std::string out = open_table({"family", "what it attacks", "#largest error/bound without the last rounding",
                                "#largest error/bound", "#largest ULP", "#pass", "#records"}) +
                    "<tbody>";
  for (const FamilyInfo& f : c.data.families) {
    const Line& l = lines[f.name];
    if (l.records == 0 && c.variants.size() == 1) continue;
    out += fmt::format("<tr><th>{}</th><td class=\"wide\">{}</td>", escape(f.name), escape(f.why));
    out += number_cell(value(l.excess), where(l.excess));
    out += number_cell(value(l.bound), where(l.bound)) + number_cell(value(l.ulp), where(l.ulp));
    out += count_cell(l.passed) + count_cell(l.records) + "</tr>";
  }
  return "<p>The logits of a row depend only on family, dtype, V (row length), row and seed, so every record "
         "can be repeated. Below each largest value are its key and V.</p>" +
         scroll(out + "</tbody></table>");
}

}  // namespace assay::page
