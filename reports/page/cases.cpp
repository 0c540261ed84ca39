// SPDX-License-Identifier: Apache-2.0
// Tables over single cases: special values, rows outside the domain, and the worst elements in hexfloat.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reports/data/conformance_text.hpp"
#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

// The members of `all` that were chosen, in the order of `all`.
std::string listed(const std::vector<std::string>& all, const std::set<std::string>& chosen) {
  std::string out;
  for (const std::string& s : all)
    if (chosen.contains(s)) out += (out.empty() ? "" : ", ") + escape(s);
  return out;
}

std::string size_range(const std::set<std::int64_t>& sizes) {
  if (sizes.size() == 1) return grouped(*sizes.begin());
  return fmt::format("{} to {}<small>{} sizes</small>", grouped(*sizes.begin()), grouped(*sizes.rbegin()),
                     sizes.size());
}

// The distinct results of one variant on one family, over every dtype and V. Usually there is only one.
struct Answer {
  std::map<std::tuple<Status, std::string>, std::set<std::string>> said;  // -> dtypes
};

std::string special_table(const Context& c, const std::string& backend) {
  std::map<std::string, std::map<std::string, Answer>> table;
  for (const KeyTally* k : c.keys)
    if (k->info.backend == backend)
      for (const auto& [family, its] : k->families)
        for (const auto& what : its.said) table[family][k->info.variant].said[what].insert(k->info.dtype);
  if (table.empty()) return "";
  std::vector<std::string> families;
  for (const FamilyInfo& f : c.data.families)
    if (table.contains(f.name)) families.push_back(f.name);
  const auto cell = [&](const std::string& family, const std::string& variant) {
    std::string out = "<td>";
    const Answer& a = table[family][variant];
    if (a.said.empty()) out += kDash;
    std::size_t n = 0;
    for (const auto& [what, types] : a.said) {
      if (++n > 3) break;
      const auto& [status, returned] = what;
      if (n > 1) out += "<br>";
      out += returned.empty() ? "" : escape(returned) + " ";
      out += status_word(status);
      if (a.said.size() > 1) out += "<small>" + listed(c.dtypes, types) + "</small>";
    }
    if (a.said.size() > 3)
      out += fmt::format("<small>and {} other answer{}</small>", a.said.size() - 3,
                         a.said.size() == 4 ? "" : "s");
    return out + "</td>";
  };
  // One kernel's page has a row for each family. With many kernels each of them is a row: there are more
  // kernels than families, and a table may be long but not wide.
  const bool one = c.variants.size() == 1;
  std::string out =
      std::string("<table class=\"roomy\"><thead><tr><th>") + (one ? "family" : "kernel") + "</th>";
  for (const std::string& name : one ? c.variants : families) out += "<th>" + escape(name) + "</th>";
  out += "</tr></thead><tbody>";
  if (one)
    for (const std::string& f : families)
      out += "<tr><th>" + escape(f) + "</th>" + cell(f, c.variants.front()) + "</tr>";
  else
    for (const std::string& v : c.variants) {
      if (std::none_of(table.begin(), table.end(), [&](const auto& row) { return row.second.contains(v); }))
        continue;
      out += "<tr><th>" + variant_link(c, v) + "</th>";
      for (const std::string& f : families) out += cell(f, v);
      out += "</tr>";
    }
  return scroll(out + "</tbody></table>");
}

// The largest values per (variant, dtype, family): one bad combination cannot fill the list.
std::vector<const WorstRecord*> worst_by(const Context& c, WorstList KeyTally::*list) {
  std::map<std::tuple<std::string, std::string, std::string_view>, std::pair<double, const WorstRecord*>>
      best;
  for (const KeyTally* k : c.keys)
    for (const auto& [value, r] : (k->*list).sorted()) {
      auto& b = best[{k->info.variant, k->info.dtype, r->family}];
      if (!b.second || value > b.first) b = {value, r};
    }
  std::vector<std::pair<double, const WorstRecord*>> all;
  for (const auto& [where, one] : best) all.push_back(one);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (all.size() > WorstList::kMost) all.resize(WorstList::kMost);
  std::vector<const WorstRecord*> out;
  for (const auto& [value, r] : all) out.push_back(r);
  return out;
}

// Sorted by its value; one that is no number comes last.
std::string hex_cell(double v, const std::string& shown) {
  const std::string sort = std::isnan(v) ? "" : fmt::format(" data-v=\"{}\"", v);
  return fmt::format("<td class=\"hex\"{}>{}</td>", sort, shown);
}

std::string hex_cell(double v) { return hex_cell(v, hexfloat(v) + "<small>" + number(v) + "</small>"); }

std::string case_table(const std::vector<const WorstRecord*>& worst) {
  std::string out = open_table({"key, family, V", "#without the last rounding", "#error/bound", "#ULP",
                                "logit", "#x &minus; m", "got", "exact value lies in"});
  for (const WorstRecord* r : worst) {
    const WorstElement& w = r->element;
    out += fmt::format(
        "<tbody class=\"case\"><tr><th><code>{}</code><small>{}, V&nbsp;=&nbsp;{}, row {}, column "
        "{}</small></th>",
        escape(r->key), escape(r->family), grouped(r->V), grouped(w.row), grouped(w.column));
    out += number_cell(r->excess) + number_cell(r->max_bound_ratio) + number_cell(w.ulp_error);
    out += hex_cell(w.logit) + number_cell(w.distance) + hex_cell(w.got);
    const std::string exact =
        w.exact_lo == w.exact_hi
            ? hexfloat(w.exact_lo)
            : fmt::format("[{},<br>&nbsp;{}]", hexfloat(w.exact_lo), hexfloat(w.exact_hi));
    out += hex_cell(w.exact_lo, exact) +
           fmt::format("</tr><tr><td colspan=\"8\">{}</td></tr></tbody>", command(r->reproduce));
  }
  return scroll(out + "</table>");
}

}  // namespace

std::string special_values(const Context& c) {
  return "<p>The values that each variant returned for rows with infinities and NaN, over all V (row "
         "lengths) from 1, and whether its policy declares exactly these. If no value is named, the row has "
         "a finite maximum and was judged element by element. Dtypes are named if they differ.</p>" +
         per_backend(c, special_table);
}

std::string domain(const Context& c) {
  struct Line {
    std::set<std::string> dtypes, backends;
    std::set<std::int64_t> sizes;
    std::int64_t records = 0, rows = 0, outside = 0;
    const OutsideTally* first = nullptr;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Line> lines;
  for (const KeyTally* k : c.keys)
    for (const auto& [where, o] : k->outside) {
      Line& l = lines[{k->info.variant, where.first, where.second}];
      if (!l.first || (l.first->returned.empty() && !o.returned.empty())) l.first = &o;
      l.dtypes.insert(k->info.dtype), l.backends.insert(k->info.backend);
      l.sizes.insert(o.sizes.begin(), o.sizes.end());
      l.records += o.records, l.rows += o.rows, l.outside += o.outside;
    }
  std::string out =
      "<p>Rows for which a variant promises nothing: outside its declared domain, or too coarse in its "
      "arithmetic "
      "for any verdict. They are run where that is possible, to show what the kernel does "
      "there. The naive algorithm subtracts no maximum, so it overflows on rows on which safe and online do "
      "not.</p>";
  if (lines.empty()) return "";
  constexpr std::size_t kMost = 400;
  std::string table = open_table({"variant", "family", "reason", "what came back", "dtypes, backends", "V",
                                  "#rows outside", "#rows", "#records"}) +
                      "<tbody>";
  std::size_t n = 0;
  for (const auto& [where, l] : lines) {
    if (++n > kMost) break;
    const std::string reason = l.first->status == Status::pass && l.first->reason.empty()
                                   ? "some rows are outside; the others pass"
                                   : l.first->reason;
    table +=
        fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}<small>{}</small></td><td>{}</td>",
                    escape(std::get<0>(where)), escape(std::get<1>(where)), escape(shorten(reason, 240)),
                    l.first->returned.empty() ? kDash : escape(shorten(l.first->returned, 200)),
                    listed(c.dtypes, l.dtypes), listed(c.backends, l.backends), size_range(l.sizes));
    table += count_cell(l.outside) + count_cell(l.rows) + count_cell(l.records) + "</tr>";
  }
  table = scroll(table + "</tbody></table>");
  if (n > kMost) table += "<p>Further groups are in <code>records.jsonl</code>.</p>";
  if (lines.size() <= 24) return out + table;
  return out +
         fmt::format("<details><summary>{} groups of variant, family and reason</summary>", lines.size()) +
         table + "</details>";
}

std::string worst_cases(const Context& c) {
  const auto by_excess = worst_by(c, &KeyTally::worst_excess), by_ulp = worst_by(c, &KeyTally::worst_ulp);
  std::int64_t rounded = 0;
  for (const KeyTally* k : c.keys) rounded += k->rounded_records;
  const std::string left_out =
      rounded == 0 ? ""
                   : fmt::format(
                         "<p>In {} records even the worst element is within {} ULP: it is rounded "
                         "correctly, or very nearly. They are not listed.</p>",
                         grouped(rounded), kRounded);
  if (by_excess.empty() && by_ulp.empty())
    return left_out.empty() ? "<p class=\"mute\">No element was judged.</p>" : left_out;
  return "<p>The largest values per variant, dtype and family. The element is the one with the largest ULP "
         "error "
         "in its record; error/bound is the largest over all checks of the record.</p>" +
         left_out + "<h3>By error/bound without the last rounding</h3>" + case_table(by_excess) +
         "<details><summary>By ULP error</summary>" + case_table(by_ulp) + "</details>";
}

// The page's section on conformance: the results of every group of cases, what failing cases have in common,
// and the failing cases themselves.

namespace {

std::string groups_table(const std::vector<GroupTally>& groups) {
  std::string out = open_table({"group", "#pass", "#fail", "#crashed", "#hung", "#inconclusive",
                                "#unsupported", "#not run", "why unsupported"}) +
                    "<tbody>";
  for (const GroupTally& g : groups) {
    out += "<tr><th>" + escape(g.group) + "</th>";
    for (const Status s : {Status::pass, Status::fail, Status::crashed, Status::hung, Status::inconclusive,
                           Status::unsupported, Status::not_run})
      out += count_cell(g[s]);
    out += "<td class=\"wide\">" + escape(shorten(g.unsupported_reason, 160)) + "</td></tr>";
  }
  return scroll(out + "</tbody></table>");
}

std::string failing_cases(const KeyConformance& of) {
  if (of.failing.empty()) return "";
  using Failing = KeyConformance::FailingCase;
  const std::vector<SizeInfo> sizes = sizes_of_all(of.failing, [](const Failing& r) { return r.op; });
  std::string rows;
  for (const Failing& r : of.failing) {
    std::string numbers;
    for (const SizeCell& cell : cells_of(sizes, r.op, r))
      numbers += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", cell.sort, cell.text);
    rows += fmt::format("<tr><td>{}</td><td>{} {}</td>{}<td>{}</td><td class=\"wide\">{}<br>{}</td></tr>",
                        escape(r.group), escape(r.family), escape(r.setup), numbers, status_word(r.status),
                        escape(r.detail), command(r.reproduce));
  }
  std::string heads;
  for (const SizeInfo& s : sizes) heads += fmt::format("<th class=\"n\">{}</th>", escape(s.name));
  return fmt::format("<details><summary>{} of {} failing cases</summary>", of.failing.size(),
                     grouped(of.failing_cases)) +
         scroll("<table><thead><tr><th>group</th><th>inputs</th>" + heads +
                "<th>status</th><th>what, and the command that repeats it</th></tr></thead><tbody>" + rows +
                "</tbody></table>") +
         "</details>";
}

/// The limits within which the kernel is right: one row per axis.
std::string contract_table(const assay::conformance::Contract& contract, bool right) {
  using State = assay::conformance::Axis::State;
  std::string out = std::string(right ? "<p>Right within: <b>" : "<p>Cases fail within: <b>") +
                    escape(contract.within()) + "</b>.</p>";
  if (!contract.required.empty()) out += "<p>Required: <b>" + escape(contract.required) + "</b>.</p>";
  for (const std::string& why : contract.uncovered)
    out += "<p class=\"bad\">It does not cover what is required: " + escape(why) + ".</p>";
  if (!contract.own.empty())
    out +=
        "<p>Limits that only the kernel's own file declares: <code>" + escape(contract.own) + "</code>.</p>";
  if (right && contract.limited())
    out += "<p>To make it official: " + command("--declare '" + contract.to_declare() + "'") + "</p>";
  if (!contract.outside.empty()) {
    out += "<p>Seen outside these limits:</p><ul>";
    for (const std::string& o : contract.outside) out += "<li>" + escape(o) + "</li>";
    out += "</ul>";
  }
  std::string table = open_table({"axis", "state", "inside the contract", "seen outside"}) + "<tbody>";
  for (const assay::conformance::Axis& a : contract.axes)
    table += fmt::format("<tr><th>{}</th><td{}>{}</td><td>{}</td><td class=\"wide\">{}</td></tr>",
                         escape(a.name), a.state == State::wrong ? " class=\"bad\"" : "", name(a.state),
                         escape(a.within), escape(a.outside));
  return out + scroll(table + "</tbody></table>");
}

}  // namespace

std::string findings_list(const std::string& key, const KeyConformance& of, std::size_t most) {
  if (of.findings.empty()) return "";
  std::string out = key.empty() ? "" : "<p><code>" + escape(key) + "</code></p>";
  out += "<ol class=\"findings\">";
  for (std::size_t i = 0; i < of.findings.size() && i < most; ++i) {
    const KeyConformance::Finding& f = of.findings[i];
    out += fmt::format("<li>{} <b>{}</b>: {} of {} cases ({})", status_word(f.status), escape(f.group),
                       grouped(f.failed), grouped(f.of), escape(f.checks));
    const std::string likely = f.likely.empty() ? "" : ". Likely cause: <b>" + escape(f.likely) + "</b>";
    if (f.vague) out += likely;
    if (!f.where.empty()) out += (f.vague && !likely.empty() ? "; " : ": ") + escape(f.where);
    if (!f.also.empty()) out += "; with " + escape(f.also);
    if (!f.vague) out += likely;
    out += fmt::format(".<br>{}", escape(shorten(f.detail, 400)));
    if (!f.nearest.empty()) out += "<br>The nearest class: " + escape(f.nearest);
    if (!f.declares.empty())
      out += "<br>If no row is ever longer, say so, and it is judged within that: <code>--declare '" +
             escape(f.declares) + "'</code>";
    if (f.passes_alone) out += "<br>" + std::string(kSeenInCalls);
    out += "<br>" + command(f.reproduce) + "</li>";
  }
  return out + "</ol>";
}

std::string conformance(const Context& c) {
  std::string out =
      "<p>Each group of cases looks for one kind of fault. For failing cases, the page first gives the "
      "simplest rule that separates them from the passing ones, and what usually causes it. The failing "
      "cases are listed below that.</p>";
  for (const KeyTally* k : c.keys) {
    const KeyConformance& its = k->conformance;
    if (its.groups.empty()) continue;
    out += "<h3><code>" + escape(k->info.key) + "</code></h3>";
    if (c.data.quick)
      out += fmt::format(
          "<p>This was a quick check: {}. The whole check tries all of them, and more rows, layouts and "
          "calls.</p>",
          its.lengths_tried);
    if (const auto contract = c.data.contracts.find(k->info.key); contract != c.data.contracts.end())
      out += contract_table(contract->second, k->right());
    out +=
        groups_table(its.groups) + findings_list("", its, KeyConformance::kMostFindings) + failing_cases(its);
  }
  return out;
}

}  // namespace assay::page
