// SPDX-License-Identifier: Apache-2.0
// The ladder of onepass: a picture of each rung with its measured share, and the goals beside the results.
#include <fmt/format.h>

#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/goals.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

/// A rung: who holds a row. The picture is a row cut into `parts`; `below` of them lie in shared memory, and
/// a part that is read and not held is open. `V` per dtype is a length at which the table shows it.
struct Rung {
  const char *name, *holds, *meets;
  int parts, below;
  bool held;
  const char* variant;
  std::int64_t rows, V32, V16;
};
constexpr Rung kRungs[] = {
    {"lanes", "4 to 32 lanes of a warp, so several rows a warp", "shuffles", 4, 0, true, "onepass_fast", 4000,
     128, 256},
    {"warp", "one warp", "shuffles", 8, 0, true, "onepass_fast", 4000, 1000, 1000},
    {"block", "the registers of one block", "shared memory", 16, 0, true, "onepass_fast", 4000, 8192, 16384},
    {"cluster", "the registers of 2 to 16 blocks", "each warp sends (m, d) to every block", 16, 0, true,
     "onepass_fast", 4000, 65536, 131072},
    {"boxed", "such a cluster, part of the row in shared memory", "each warp sends (m, d) to every block", 16,
     8, true, "onepass_fast", 4000, 524288, 1048576},
    {"grid", "all blocks of the GPU; few rows", "once through global memory", 32, 0, true, "onepass_fast", 10,
     128256, 262144},
    {"stream", "nobody; only log-sum-exp", "shared memory", 16, 0, false, "onepass_lse_fast", 4000, 128256,
     128256},
};

std::string picture(const Rung& g) {
  constexpr double kWide = 192, kHigh = 20;
  std::string cells;
  const double wide = kWide / g.parts;
  for (int i = 0; i < g.parts; ++i) {
    const bool shared = i % 2 == 1 && g.below > 0;
    cells += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"currentColor\" "
        "fill-opacity=\"{}\" "
        "stroke=\"currentColor\" stroke-width=\"0.7\"/>",
        1 + i * wide, shared ? 10 : 1, wide - 1, shared ? kHigh - 9 : kHigh,
        !g.held  ? 0.0
        : shared ? 0.15
                 : 0.45);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}: a row in {} parts\" "
      "width=\"{}\" "
      "height=\"{}\">{}</svg>",
      g.name, g.parts, kWide + 2, kHigh + 3, cells);
}

std::string cell(const Context& c, const Rung& g, const char* dtype, std::int64_t V) {
  const SweepRecord* const r = c.at(g.variant, dtype, g.rows, V);
  return r ? share_cell(share(*r), fmt::format("V = {}, {}", grouped(V), duration(*r->median_us)), 0,
                        describe(*r))
           : share_cell(NAN);
}

std::string invariance(const Context& c) {
  const std::vector<InvarianceLine> lines = invariance_lines(c);
  if (lines.empty()) return "";
  std::string body;
  for (const InvarianceLine& l : lines)
    body += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", grouped(l.rows),
                        escape(l.dtype), escape(l.lengths), escape(l.least_and_most()), l.mean());
  const auto& heads = kInvarianceHeadings;
  return "<h3>What batch invariance costs</h3><p><code>onepass_invariant</code> gives a row the same bits at "
         "any place in "
         "any batch, so the number of rows may not decide who holds a row. The factors are its time over "
         "that of "
         "<code>onepass_fast</code> at the same shape.</p>" +
         page::scroll(page::open_table({heads[0], heads[1], heads[2], heads[3], heads[4]}) + "<tbody>" +
                      body + "</tbody></table>");
}

}  // namespace

std::string ladder(const Context& c) {
  const std::vector<GoalLine> lines = goal_lines(c);
  if (lines.empty()) return missing("onepass", "assay sweep --key 'onepass*@cuda'");
  std::string rungs;
  for (const Rung& g : kRungs)
    rungs += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", g.name, picture(g),
                         g.holds, g.meets, grouped(g.rows)) +
             cell(c, g, "f32", g.V32) + cell(c, g, "f16", g.V16) + cell(c, g, "bf16", g.V16) + "</tr>";
  std::string goals;
  for (const GoalLine& l : lines)
    goals += fmt::format(
        "<tr><th>{}</th><td class=\"nw\">{}</td><td "
        "class=\"nw\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(l.shapes), escape(l.dtypes), escape(l.goal), escape(l.result),
        l.peer.empty() ? kDash : escape(l.peer), l.reached.empty() ? kDash : escape(l.reached));
  return "<p><code>onepass</code> reads every logit once and writes every output once: between the two the "
         "row stays on "
         "the chip. The row length V and the number of rows decide who holds it. A filled part of a picture "
         "lies in "
         "registers, a pale and lower one in shared memory, an open one is read and not held. The shares are "
         "of the "
         "fastest copy, for <i>stream</i> of a read.</p>" +
         page::scroll(page::open_table({"rung", "a row", "who holds it", "how they exchange (m, d)", "#rows",
                                        "#f32", "#f16", "#bf16"}) +
                      "<tbody>" + rungs + "</tbody></table>") +
         "<h3>Goals beside results</h3>" +
         page::scroll(page::open_table({kGoalHeadings[0], kGoalHeadings[1], kGoalHeadings[2],
                                        kGoalHeadings[3], kGoalHeadings[4], kGoalHeadings[5]}) +
                      "<tbody>" + goals + "</tbody></table>") +
         invariance(c);
}

}  // namespace assay::speed
