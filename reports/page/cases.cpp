// Tables over single cases: special values, rows outside the domain, and the worst elements in hexfloat.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reference/inputs/inputs.hpp"
#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

bool is_special(const Record& r) {
  if (const Family* f = find_family(r.family); f && f->kind == FamilyKind::special) return true;
  return !r.returned.empty() && was_judged(r) && r.rows_outside == 0;
}

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

// "row 3: NaN x1024, 0 x1" becomes "NaN, 0": without counts, rows of every V give the same text.
std::string kinds(std::string_view returned) {
  const auto digit = [&](std::size_t i) {
    return i < returned.size() && returned[i] >= '0' && returned[i] <= '9';
  };
  std::size_t i = 0;
  if (returned.starts_with("row ")) {
    for (i = 4; digit(i);) ++i;
    i = returned.substr(i).starts_with(": ") ? i + 2 : 0;
  }
  std::string out;
  while (i < returned.size()) {
    if (returned.substr(i).starts_with(" x") && digit(i + 2)) {
      for (i += 2; digit(i);) ++i;
    } else {
      out += returned[i++];
    }
  }
  return shorten(out, 120);
}

// The distinct results of one variant on one family, over every dtype and V. Usually there is only one.
struct Answer {
  std::map<std::tuple<Status, std::string>, std::set<std::string>> said;  // -> dtypes
};

std::string special_table(const Context& c, const std::string& backend) {
  std::map<std::string, std::map<std::string, Answer>> table;
  for (const Record& r : c.data.records)
    if (r.backend == backend && r.status != Status::not_run && r.V > 0 && is_special(r))
      table[r.family][r.variant].said[{r.status, kinds(r.returned)}].insert(r.dtype);
  if (table.empty()) return "";
  std::vector<std::string> columns;
  for (const std::string& v : c.variants)
    if (std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.second.contains(v); }))
      columns.push_back(v);
  std::string out = "<table class=\"roomy\"><thead><tr><th>family</th>";
  for (const std::string& v : columns) out += "<th>" + escape(v) + "</th>";
  out += "</tr></thead><tbody>";
  std::vector<std::string> order;
  for (const FamilyInfo& f : c.data.families)
    if (table.contains(f.name)) order.push_back(f.name);
  for (const std::string& family : order) {
    out += "<tr><th>" + escape(family) + "</th>";
    for (const std::string& v : columns) {
      out += "<td>";
      const Answer& a = table[family][v];
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
      if (a.said.size() > 3) out += fmt::format("<small>and {} other answers</small>", a.said.size() - 3);
      out += "</td>";
    }
    out += "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

// The record with the largest value per (variant, dtype, family): one bad combination cannot fill the list.
std::vector<const Record*> worst_by(const Context& c, std::optional<double> Record::*field,
                                    std::size_t most) {
  std::map<std::tuple<std::string, std::string, std::string>, const Record*> best;
  for (const Record& r : c.data.records) {
    if (!was_judged(r) || !r.worst || !(r.*field) || std::isnan(*(r.*field))) continue;
    const Record*& b = best[{r.variant, r.dtype, r.family}];
    if (!b || *(r.*field) > *(b->*field)) b = &r;
  }
  std::vector<const Record*> out;
  for (const auto& [where, r] : best) out.push_back(r);
  std::stable_sort(out.begin(), out.end(), [&](auto* a, auto* b) { return *(a->*field) > *(b->*field); });
  if (out.size() > most) out.resize(most);
  return out;
}

std::string case_table(const std::vector<const Record*>& worst) {
  std::string out = open_table(
      {"#error/bound", "#ULP", "key, family, V", "logit", "#x &minus; m", "got", "exact value lies in"},
      false);
  for (const Record* r : worst) {
    const WorstElement& w = *r->worst;
    out += "<tbody class=\"case\"><tr>" + number_cell(r->max_bound_ratio) + number_cell(w.ulp_error);
    out += fmt::format("<td><code>{}</code> {}, V&nbsp;=&nbsp;{}<small>row {}, column {}</small></td>",
                       escape(r->key), escape(r->family), grouped(r->V), grouped(w.row), grouped(w.column));
    out += fmt::format("<td class=\"hex\">{}<small>{}</small></td>", hexfloat(w.logit), number(w.logit));
    out += number_cell(w.distance);
    out += fmt::format("<td class=\"hex\">{}<small>{}</small></td>", hexfloat(w.got), number(w.got));
    const std::string exact =
        w.exact_lo == w.exact_hi
            ? hexfloat(w.exact_lo)
            : fmt::format("[{},<br>&nbsp;{}]", hexfloat(w.exact_lo), hexfloat(w.exact_hi));
    out += fmt::format(
        "<td class=\"hex\">{}</td></tr><tr><td></td><td></td><td colspan=\"5\">{}</td></tr></tbody>", exact,
        command(r->reproduce));
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
    const Record* first = nullptr;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Line> lines;
  for (const Record& r : c.data.records) {
    if (r.status != Status::unsupported && !(was_judged(r) && r.rows_outside > 0)) continue;
    Line& l = lines[{r.variant, r.family, r.reason.substr(0, r.reason.find(':'))}];
    if (!l.first || (l.first->returned.empty() && !r.returned.empty())) l.first = &r;
    l.dtypes.insert(r.dtype);
    l.backends.insert(r.backend);
    l.sizes.insert(r.V);
    ++l.records, l.rows += r.rows, l.outside += r.rows_outside;
  }
  std::string out =
      "<p>Rows for which a variant promises nothing. They are run nevertheless, to show what the kernel does "
      "there. The naive algorithm subtracts no maximum, so it overflows on rows on which safe and online do "
      "not.</p>";
  if (lines.empty())
    return out + "<p class=\"mute\">Every row of this run lies inside its kernel's domain.</p>";
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
  const auto by_bound = worst_by(c, &Record::max_bound_ratio, 25), by_ulp = worst_by(c, &Record::max_ulp, 25);
  if (by_bound.empty() && by_ulp.empty()) return "<p class=\"mute\">No element was judged.</p>";
  return "<p>The largest values per variant, dtype and family. error/bound is the largest over all checks of "
         "the record. The element shown is the one with the largest ULP error in the record.</p><h3>By "
         "error/bound</h3>" +
         case_table(by_bound) + "<details><summary>By ULP error</summary>" + case_table(by_ulp) +
         "</details>";
}

}  // namespace assay::page
