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
        "<th class=\"n edge\">ULP, real</th><th class=\"n\">ULP, all</th><th class=\"n\">error/bound</th>";
  }
  std::string rows;
  for (const std::string& variant : c.variants) {
    std::string cells;
    const KeyInfo* info = nullptr;
    std::int64_t records = 0, passed = 0, unsupported = 0, bad = 0;
    for (const std::string& d : c.dtypes) {
      const KeyTally* k = find_key(c, variant, d, backend);
      if (k && !info) info = &k->info;
      if (!k || k->records == k->not_run) {
        const std::string text = k ? "not run" : "";
        cells += fmt::format("<td class=\"edge mute\">{}</td><td></td><td></td>", text);
        continue;
      }
      std::string ulp = extreme_cell(k->ulp_real, false);
      ulp.replace(ulp.find("class=\"n\""), 9, "class=\"n edge\"");
      cells += ulp + extreme_cell(k->ulp, false) + ratio_cell(k->bound, false);
      records += k->records, passed += k->passed, unsupported += k->unsupported, bad += k->bad;
    }
    if (!info) continue;
    std::string judged = fmt::format("<td class=\"n edge{}\" data-v=\"{}\">{} / {}", bad ? " bad" : "",
                                     passed, grouped(passed), grouped(records));
    if (unsupported) judged += fmt::format("<small>{} unsupported</small>", grouped(unsupported));
    rows +=
        fmt::format("<tr><th>{}<small>{}; exp {}; {} accesses</small></th>{}{}</td></tr>", escape(variant),
                    escape(info->algorithm), escape(info->exp), escape(info->accesses), cells, judged);
  }
  if (rows.empty()) return "";
  return scroll(fmt::format(
      "<table class=\"sortable\"><thead><tr><th></th>{}<th class=\"edge\"></th></tr><tr><th>variant</th>"
      "{}<th class=\"n edge\">pass / records</th></tr></thead><tbody>{}</tbody></table>",
      top, under, rows));
}

std::string key_table(const Context& c, const std::string& backend) {
  std::string out =
      open_table({"key", "#error/bound", "#pass / records", "#ULP, real logits", "#ULP, all families",
                  "#p99 ULP, real", "#correctly rounded", "algorithm", "exp", "division", "internals",
                  "accesses", "determinism", "special values"}) +
      "<tbody>";
  bool any = false;
  for (const KeyTally& k : c.keys) {
    if (k.info.backend != backend) continue;
    any = true;
    const KeyInfo& i = k.info;
    out += "<tr><th><code>" + escape(i.key) + "</code>";
    if (!i.not_run.empty()) out += "<small>not run: " + escape(shorten(i.not_run, 80)) + "</small>";
    out += "</th>" + ratio_cell(k.bound, true);
    out += fmt::format("<td class=\"n{}\" data-v=\"{}\">{} / {}</td>", k.bad ? " bad" : "", k.passed,
                       grouped(k.passed), grouped(k.records));
    out += extreme_cell(k.ulp_real, true) + extreme_cell(k.ulp, true) + extreme_cell(k.p99_real, false);
    const double share = k.rounded / k.elements;
    out += k.elements > 0
               ? fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", share, escape(plain_percent(share)))
               : number_cell(std::nullopt);
    for (const std::string* s :
         {&i.algorithm, &i.exp, &i.division, &i.internals, &i.accesses, &i.determinism, &i.policy})
      out += "<td class=\"nw\">" + escape(*s) + "</td>";
    out += "</tr>";
  }
  return any ? scroll(out + "</tbody></table>") : "";
}

}  // namespace

std::string variants_by_dtype(const Context& c) {
  return "<p><b>error/bound is the figure of merit</b>: if it is at most 1, every judged element, row sum "
         "and ratio is within the error that is proved for that algorithm. ULP alone misleads. A "
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
    Extreme bound, ulp;
  };
  std::map<std::string, Line> lines;
  for (const Record& r : c.data.records) {
    if (r.status == Status::not_run) continue;
    Line& l = lines[r.family];
    ++l.records;
    l.passed += r.status == Status::pass;
    if (!was_judged(r)) continue;
    if (r.max_bound_ratio) l.bound.take(*r.max_bound_ratio, r);
    if (r.max_ulp) l.ulp.take(*r.max_ulp, r);
  }
  const auto where = [](const Extreme& e) {
    return e.record ? fmt::format("<small>{}, V&nbsp;{}</small>", escape(e.record->key), grouped(e.record->V))
                    : "";
  };
  std::string out =
      open_table({"family", "what it attacks", "#largest error/bound", "#largest ULP", "#pass", "#records"}) +
      "<tbody>";
  for (const FamilyInfo& f : c.data.families) {
    const Line& l = lines[f.name];
    out += fmt::format("<tr><th>{}</th><td class=\"wide\">{}</td>", escape(f.name), escape(f.why));
    out += number_cell(l.bound.record ? std::optional(l.bound.value) : std::nullopt, where(l.bound));
    out += number_cell(l.ulp.record ? std::optional(l.ulp.value) : std::nullopt, where(l.ulp));
    out += count_cell(l.passed) + count_cell(l.records) + "</tr>";
  }
  return "<p>The logits of a row depend only on family, dtype, V (row length), row and seed, so every record "
         "can be repeated. Below each largest value are its key and V.</p>" +
         scroll(out + "</tbody></table>");
}

}  // namespace assay::page
