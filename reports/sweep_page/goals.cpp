// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep_page/goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep/rig/rules.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

using Sizes = std::vector<std::int64_t>;

const Sizes kAligned = {4096, 8192, 16384, 32768, 65536, 131072, 262144};
const Sizes kOther = {1000, 12345, 25000, 50257, 128257};
const Sizes kShort = {32, 64, 128, 256, 512};
const Sizes kFrom16384 = {16384, 32768, 65536, 131072, 262144}, kFrom32768 = {32768, 65536, 131072, 262144};
const Sizes kFrom4096 = {4096,  8192,   12345,  16384,  25000,  32768, 50257,
                         65536, 128256, 128257, 131072, 151936, 262144};

/// A time reaches the goal if it is at least this share of the ceiling, or at most so many us above it; 0:
/// not asked.
struct Goal {
  const char* shapes;
  std::vector<std::string> dtypes;
  std::int64_t rows;
  Sizes V;
  double share, above_us;
  const char* variant = "onepass_fast";
  std::vector<int> k = {0};
  const char* family = "";  // of the inputs; "": the page's
};

template <std::size_t N>
Sizes sizes_of(const std::int64_t (&values)[N]) {
  return {std::begin(values), std::end(values)};
}
constexpr const char* kTopkVariant = "onepass_topk_fast";

const std::vector<Goal>& goals() {
  static const std::vector<int> few(std::begin(kTopkFew), std::end(kTopkFew)),
      many(std::begin(kTopkMany), std::end(kTopkMany));
  static const std::vector<std::string> all = {"f32", "f16", "bf16"}, half = {"f16", "bf16"},
                                        single = {"f32"};
  static const std::vector<Goal> list = {
      {"4000 rows, V = 4096 to 262,144, aligned", half, 4000, kAligned, 0.98, 0},
      {"4000 rows, V = 4096 to 262,144, aligned", single, 4000, kAligned, 0.97, 0},
      {"4000 rows, V = 1000, 12,345, 25,000, 50,257, 128,257", all, 4000, kOther, 0.95, 0},
      {"4000 rows, V = 1025", single, 4000, {1025}, 0.95, 0},
      {"4000 rows, V = 1025", half, 4000, {1025}, 0.90, 0},
      {"4000 rows, V = 151,936", all, 4000, {151936}, 0.97, 0},
      {"4000 rows, V = 524,288", single, 4000, {524288}, 0.92, 0},
      {"4000 rows, V = 1,048,576", single, 4000, {1048576}, 0.88, 0},
      {"4000 rows, V = 524,288", half, 4000, {524288}, 0.95, 0},
      {"4000 rows, V = 1,048,576", half, 4000, {1048576}, 0.92, 0},
      {"4000 rows, V = 32 to 512", all, 4000, kShort, 0.95, 0.3},
      {"10 rows, V = 25,000 to 1,048,576", all, 10, {25000, 128256, 262144, 1048576}, 0, 1.3},
      {"1 row, V = 128,256 and 1,048,576", all, 1, {128256, 1048576}, 0, 1.3},
      {"log-sum-exp, 4000 rows, V = 4096 to 262,144", all, 4000, kFrom4096, 0.95, 0, "onepass_lse_fast"},
      {"top-k, 4000 rows, k = 5 and 30, V = 8192", single, 4000, {8192}, 0.85, 0, kTopkVariant, few},
      {"top-k, 4000 rows, k = 5 and 30, V = 16,384 to 262,144", single, 4000, kFrom16384, 0.92, 0,
       kTopkVariant, few},
      {"top-k, 4000 rows, k = 5 and 30, V = 8192", half, 4000, {8192}, 0.75, 0, kTopkVariant, few},
      {"top-k, 4000 rows, k = 5 and 30, V = 32,768 to 262,144", half, 4000, kFrom32768, 0.85, 0, kTopkVariant,
       few},
      {"top-k, 4000 rows, k = 64 to 256, V = 32,768 to 262,144", all, 4000, sizes_of(kTopkManyLadder), 0.75,
       0, kTopkVariant, many},
      {"top-k, 10 rows, k = 5 and 30, V = 128,256 to 1,048,576", all, 10, sizes_of(kTopkLadderFewRows), 0, 3,
       kTopkVariant, few},
      {"top-k, 4000 rows of equal logits, k = 30, V = 32,000",
       all,
       4000,
       {32000},
       0.50,
       0,
       kTopkVariant,
       {30},
       "constant"},
  };
  return list;
}

double ceiling(const SweepRecord& r) { return (reads_only(r) ? r.read_us : r.copy_us).value_or(NAN); }
/// What the goal asks for, as a number that is better if it is larger.
double merit(const Goal& g, const SweepRecord& r) {
  return g.share > 0 ? ceiling(r) / *r.median_us : ceiling(r) - *r.median_us;
}
bool reached(const Goal& g, const SweepRecord& r) {
  return (g.share > 0 && ceiling(r) / *r.median_us >= g.share) ||
         (g.above_us > 0 && *r.median_us - ceiling(r) <= g.above_us);
}
std::string said(const Goal& g, double merit) {
  return g.share > 0 ? percent(merit) : fmt::format("{:+.1f} us", -merit);
}

/// The record of a goal at a shape, or null.
const SweepRecord* record_at(const Context& c, const Goal& g, const std::string& dtype, std::int64_t V,
                             int k) {
  if (*g.family == '\0' || c.family == g.family) return c.at(g.variant, dtype, g.rows, V, k);
  const std::string key = fmt::format("{}/{}@{}", g.variant, dtype, c.backend);
  for (const SweepRecord& r : c.records)
    if (r.key == key && r.rows == g.rows && r.V == V && r.k == k && r.family == g.family &&
        r.verified != Status::fail && r.timed() && r.median_us)
      return &r;
  return nullptr;
}

/// The fastest right peer at a shape, or null. Of softmax and top-k, one that only selects is a peer, too.
const SweepRecord* best_peer(const Context& c, const SweepRecord& of) {
  const auto comparable = [&](const SweepRecord& r) {
    return r.op == of.op || (of.op == "softmax_topk" && r.op == "topk");
  };
  const SweepRecord* best = nullptr;
  for (const SweepRecord* r : c.timed)
    if (r->role == "peer" && comparable(*r) && r->dtype == of.dtype && r->rows == of.rows && r->V == of.V &&
        r->pick() == of.pick() && r->family == of.family && r->verified != Status::fail &&
        std::isfinite(ceiling(*r)) && (!best || *r->median_us < *best->median_us))
      best = r;
  return best;
}

std::string range(const Goal& g, std::vector<std::pair<double, std::string>> all) {
  if (all.empty()) return "";
  std::sort(all.begin(), all.end());
  const auto one = [&](const auto& p) { return fmt::format("{} ({})", said(g, p.first), p.second); };
  return all.size() == 1 ? one(all.front()) : one(all.front()) + " to " + one(all.back());
}

/// Rows split over two GPUs. The goal is NCCL's; what the GPUs reach by each other's memory stands beside it.
GoalLine fact_line(const Context& c) {
  constexpr double kShare = 0.90;
  constexpr int kGpus = 2;
  constexpr std::int64_t kRows = 4000, kV = 262144;
  GoalLine line{"two GPUs, 4000 rows, V = 262,144 split",
                fmt::format("{}", fmt::join(kDtypeOrder, ", ")),
                fmt::format("at least {:.0f} % of one GPU's share, each", 100 * kShare),
                "not in this run",
                "",
                ""};
  const Goal as_share{"", {}, kRows, {}, kShare, 0};
  std::vector<std::pair<double, std::string>> nccl, peers, on_chip, in_order;
  std::size_t held = 0;
  for (const char* d : kDtypeOrder) {
    if (const SplitRecord* s = c.split("nccl", kGpus, d, kRows, kV)) {
      nccl.emplace_back(*least_share(*s), d);
      held += *least_share(*s) >= kShare;
    }
    if (const SplitRecord* s = c.split("peers", kGpus, d, kRows, kV)) peers.emplace_back(*least_share(*s), d);
    if (const SplitRecord* s = c.split("held", kGpus, d, kRows, kV))
      on_chip.emplace_back(*least_share(*s), d);
    if (const SplitRecord* s = c.split("held_in_order", kGpus, d, kRows, kV))
      in_order.emplace_back(*least_share(*s), d);
  }
  if (nccl.empty()) return line;
  line.result = "NCCL: " + range(as_share, nccl);
  if (!peers.empty()) line.result += "; by each other's memory: " + range(as_share, peers);
  if (!on_chip.empty()) line.result += "; the same, the slice held on the chip: " + range(as_share, on_chip);
  if (!in_order.empty()) line.result += "; without drawing rows: " + range(as_share, in_order);
  const std::size_t all = std::size(kDtypeOrder);
  line.reached = held == all ? "all" : fmt::format("{} of {}", held, all);
  if (nccl.size() < all) line.reached += fmt::format(", {} not in this run", all - nccl.size());
  return line;
}

}  // namespace

std::vector<GoalLine> goal_lines(const Context& c) {
  if (c.backend != "cuda") return {};
  std::vector<GoalLine> out;
  bool any = false;
  for (const Goal& g : goals()) {
    GoalLine line{g.shapes, fmt::format("{}", fmt::join(g.dtypes, ", ")), "", "not in this run", "", ""};
    const std::string_view variant = g.variant;
    const char* const ceiling_is =
        variant == kTopkVariant || variant.find("lse") != variant.npos ? "read" : "copy";
    if (g.share > 0) line.goal = fmt::format("at least {:.0f} % of the {}", 100 * g.share, ceiling_is);
    if (g.above_us > 0)
      line.goal +=
          fmt::format("{}at most the {} + {} us", g.share > 0 ? ", or " : "", ceiling_is, g.above_us);
    std::vector<std::pair<double, std::string>> own, peers;
    std::size_t shapes = 0, held = 0;
    const auto add = [&](const std::string& d, std::int64_t V, int k) {
      ++shapes;
      const SweepRecord* const r = record_at(c, g, d, V, k);
      if (!r || !std::isfinite(ceiling(*r))) return;
      own.emplace_back(merit(g, *r),
                       fmt::format("{}, {}{}", d, grouped(V), k ? fmt::format(", k = {}", k) : ""));
      held += reached(g, *r);
      if (const SweepRecord* const p = best_peer(c, *r)) peers.emplace_back(merit(g, *p), variant_of(p->key));
    };
    for (const std::string& d : g.dtypes)
      for (const std::int64_t V : g.V)
        for (const int k : g.k) add(d, V, k);
    any |= !own.empty();
    if (!own.empty()) {
      line.result = range(g, own);
      line.peer = range(g, peers);
      line.reached = held == shapes ? "all" : fmt::format("{} of {}", held, shapes);
      if (own.size() < shapes) line.reached += fmt::format(", {} not in this run", shapes - own.size());
    }
    out.push_back(std::move(line));
  }
  out.push_back(fact_line(c));
  any |= !c.splits.empty();
  return any ? out : std::vector<GoalLine>{};
}

std::string InvarianceLine::least_and_most() const {
  const auto one = [](const Factor& f) { return fmt::format("{:.2f}x (V = {})", f.factor, grouped(f.V)); };
  return least.V == most.V ? one(least) : one(least) + " to " + one(most);
}
std::string InvarianceLine::mean() const { return fmt::format("{:.2f}x", geometric_mean); }

std::vector<InvarianceLine> invariance_lines(const Context& c) {
  std::set<std::int64_t, std::greater<>> rows;
  for (const SweepRecord* r : c.timed)
    if (variant_of(r->key) == "onepass_invariant") rows.insert(r->rows);
  std::vector<InvarianceLine> out;
  for (const std::int64_t n : rows)
    for (const std::string& d : c.dtypes) {
      InvarianceLine line{n, d, "", {}, {}, 0};
      double logs = 0;
      std::vector<std::int64_t> common;
      for (const std::int64_t V : c.sizes("onepass_invariant", d, n)) {
        const SweepRecord* const fast = c.at("onepass_fast", d, n, V);
        if (!fast) continue;
        const InvarianceLine::Factor f{*c.at("onepass_invariant", d, n, V)->median_us / *fast->median_us, V};
        if (common.empty() || f.factor < line.least.factor) line.least = f;
        if (common.empty() || f.factor > line.most.factor) line.most = f;
        logs += std::log(f.factor);
        common.push_back(V);
      }
      if (common.empty()) continue;
      line.geometric_mean = std::exp(logs / static_cast<double>(common.size()));
      line.lengths = common.size() == 1 ? "V = " + grouped(common[0])
                                        : fmt::format("{} V from {} to {}", common.size(),
                                                      grouped(common.front()), grouped(common.back()));
      out.push_back(std::move(line));
    }
  return out;
}

// The ladder of onepass: a picture of each rung with its measured share, and the goals beside the results.

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
