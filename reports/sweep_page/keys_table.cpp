// SPDX-License-Identifier: Apache-2.0
// Every key and peer in one table: right or wrong, how large the error, and how fast at a few V of 4000 rows.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <set>
#include <tuple>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

constexpr std::int64_t kWanted[] = {252, 1008, 4032, 14080, 25000, 32000, 64512, 128256, 262144, 1032192};

/// The wanted V that were timed. If a small sweep has none of them, all that it has.
std::vector<std::int64_t> columns(const Context& c, std::int64_t rows) {
  std::set<std::int64_t> all;
  for (const SweepRecord* r : c.timed)
    if (r->rows == rows) all.insert(r->V);
  std::vector<std::int64_t> out;
  for (const std::int64_t V : kWanted)
    if (all.contains(V)) out.push_back(V);
  if (out.empty()) out.assign(all.begin(), all.end());
  if (out.size() > 10) out.resize(10);
  return out;
}

/// The number of rows with most records.
std::int64_t main_rows(const Context& c) {
  std::map<std::int64_t, int> seen;
  for (const SweepRecord* r : c.timed) ++seen[r->rows];
  const auto most = std::max_element(seen.begin(), seen.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return seen.contains(4000) ? 4000 : most == seen.end() ? 0 : most->first;
}

struct Row {
  const SweepRecord* any = nullptr;
  int timed = 0, wrong = 0, not_judged = 0;
  double max_ulp = NAN, utilisation = NAN;
  int least_loads = INT_MAX, most_loads = 0;  // claimed, over V
  void take(const SweepRecord& r) {
    if (!any) any = &r;
    ++timed, wrong += r.verified == "fail", not_judged += r.verified == "not_judged";
    if (r.claimed_loads) {
      least_loads = std::min(least_loads, *r.claimed_loads);
      most_loads = std::max(most_loads, *r.claimed_loads);
    }
    // NaN counts as the largest error.
    const auto larger = [](double a, const std::optional<double>& b) {
      if (!b) return a;
      return std::isnan(*b) ? INFINITY : std::isnan(a) ? *b : std::max(a, *b);
    };
    max_ulp = larger(max_ulp, r.max_ulp), utilisation = larger(utilisation, r.max_utilisation);
  }
};

/// A kernel's name, as a link to its page where it has one.
std::string linked(const Context& c, const std::string& variant) {
  if (!c.pages.contains(variant)) return escape(variant);
  return fmt::format("<a href=\"kernels/{0}.html\">{0}</a>", escape(variant));
}

}  // namespace

std::string every_key(const Context& c) {
  const std::int64_t rows = main_rows(c);
  const std::vector<std::int64_t> sizes = columns(c, rows);
  std::string tables;
  for (const std::string& d : c.dtypes) {
    // This project's kernels come before the peers.
    std::map<std::tuple<bool, std::string, int>, Row> keys;
    for (const SweepRecord* r : c.timed)
      if (r->dtype == d) keys[{r->role == "peer", variant_of(r->key), r->k}].take(*r);
    std::string head =
                    "<table><thead><tr><th>kernel</th><th>outputs</th><th "
                    "class=\"n\">timed</th><th class=\"n\">max ulp</th><th class=\"n\">error/bound</th><th "
                    "class=\"n\">claims</th>",
                body;
    for (const std::int64_t V : sizes) head += "<th class=\"n\">V " + grouped(V) + "</th>";
    for (const auto& [name, row] : keys) {
      const auto& [peer, variant, k] = name;
      // For top-k the paper's K is shown; the K table has the others.
      if (k != 0 && k != 5 && keys.contains({peer, variant, 5})) continue;
      body += fmt::format(
          "<tr><th>{}{}{}{}</th><td>{}</td>", legend_sample(look(variant).marker, look(variant).css, ""),
          linked(c, variant), behind_name(row.any->op, k), peer ? " <span class=\"mute\">(peer)</span>" : "",
          row.wrong > 0        ? fmt::format("<span class=\"bad\">{} wrong</span>", row.wrong)
          : row.not_judged > 0 ? fmt::format("<span class=\"warn\">{} not judged</span>", row.not_judged)
                               : "<span class=\"good\">right</span>");
      body +=
          page::count_cell(row.timed) + page::number_cell(row.max_ulp) + page::number_cell(row.utilisation);
      body +=
          row.any->claimed_loads && row.any->claimed_stores
              ? fmt::format("<td class=\"n\">{}{}+{}</td>", row.least_loads,
                            row.most_loads > row.least_loads ? fmt::format("&ndash;{}", row.most_loads) : "",
                            *row.any->claimed_stores)
              : "<td class=\"n\">" + std::string(kDash) + "</td>";
      for (const std::int64_t V : sizes) {
        const SweepRecord* r = c.at(variant, d, rows, V, k);
        body += r ? share_cell(share(*r), duration(*r->median_us), 0, beside(*r))
                  : "<td class=\"n\">" + std::string(kDash) + "</td>";
      }
      body += "</tr>";
    }
    tables += "<div" + chosen_by(d) + "><h3>" + escape(d) + "</h3>" +
              page::scroll(head + "</tr></thead><tbody>" + body + "</tbody></table>") + "</div>";
  }
  if (tables.empty()) return missing("anything timed", "assay sweep");
  return fmt::format(
             "<p>For each V (row length): the share of the copy (of the read for top-k and log-sum-exp) at "
             "{} rows, and the time. Peers are judged by the same rules, but only on 2 to "
             "8 rows of a large output. <i>Max ulp</i> and <i>error/bound</i> are the largest of all timed "
             "shapes. "
             "<i>Claims</i> is loads + stores per element, from the shortest row to the longest. Click a "
             "heading to sort.</p>",
             grouped(rows)) +
         choice(tables);
}

}  // namespace assay::speed
