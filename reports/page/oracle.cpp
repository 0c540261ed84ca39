// SPDX-License-Identifier: Apache-2.0
// How fast each tier of the oracle judged the outputs, and how much the fast tier left to MPFR.
#include <fmt/format.h>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {

std::string oracle_speed(const Context& c) {
  std::int64_t escalated = 0, judged = 0;
  for (const KeyTally* k : c.keys) {
    escalated += k->escalated;
    judged += k->status[Status::pass] + k->status[Status::fail] + k->status[Status::inconclusive];
  }
  std::string out = fmt::format(
      "<p>Every verdict is the one that MPFR would give. The fast tier encloses each exact value in fp64, "
      "within 2<sup>-50</sup> of it. If that leaves a verdict undecided, MPFR judges again. Here this "
      "happened in {} of {} judged records.</p>",
      grouped(escalated), grouped(judged));
  const OracleSpeedData& o = c.data.oracle;
  if (o.rows.empty())
    return out +
           "<p class=\"mute\">The oracle's speed was not measured in this run "
           "(<code>assay sweep oracle</code> does).</p>";
  out += fmt::format(
      "<p>Elements judged per second. The time runs from outputs in memory to the last verdict, and includes "
      "what MPFR judged again. Rows of family <code>{}</code>; {}.</p>",
      escape(o.family), escape(o.machine));
  std::string table = open_table({"outputs of", "tier", "on", "#rows", "#V", "#elements/s", "#times MPFR",
                                  "#escalated share", "#failed"}) +
                      "<tbody>";
  double mpfr = 0;
  for (const OracleSpeedRow& r : o.rows) {
    if (r.tier == "mpfr") mpfr = r.elements_per_second;
    table += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td>", escape(r.key), escape(r.tier),
                         escape(r.where)) +
             count_cell(r.rows) + count_cell(r.V) +
             fmt::format("<td class=\"n\" data-v=\"{0}\">{0:.3g}</td>", r.elements_per_second) +
             number_cell(mpfr > 0 ? std::optional(r.elements_per_second / mpfr) : std::nullopt) +
             number_cell(r.escalated) + count_cell(r.failed) + "</tr>";
  }
  return out + scroll(table + "</tbody></table>");
}

}  // namespace assay::page
