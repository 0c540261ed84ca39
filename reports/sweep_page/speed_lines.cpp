// SPDX-License-Identifier: Apache-2.0
// Share of the copy (or the read) over V: the kernels of one read, the paper's three, some that keep the row
// on chip, softmax with top-k, and every peer that ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/data/html.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

constexpr std::int64_t kRowOrder[] = {4000, 10, 1, 32, 32768};

/// The best share of all kernels and peers of one op that were not found wrong, at each V at which at least
/// half of this project's kernels of that op were timed. At the other V only a few ran, and the best of these
/// would say nothing of the others.
std::vector<Plot::Point> best_of(const Context& c, const std::string& op, const std::string& dtype,
                                 std::int64_t rows, int k) {
  std::map<std::int64_t, double> best;
  std::map<std::int64_t, int> own;
  int most = 0;
  for (const std::string& v : c.variants) {
    if (const auto found = c.ops.find(v); found == c.ops.end() || found->second != op) continue;
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      const SweepRecord& r = *c.at(v, dtype, rows, V, k);
      if (r.role != "peer") most = std::max(most, ++own[V]);
      if (const double s = share(r); std::isfinite(s) && r.verified != "fail")
        best[V] = std::max(best.try_emplace(V, s).first->second, s);
    }
  }
  std::vector<Plot::Point> out;
  for (const auto& [V, s] : best)
    if (2 * own[V] >= most) out.push_back({static_cast<double>(V), s, ""});
  return out;
}

/// One panel per kernel, all with the same axes: its own line, and behind it the best of all kernels of its
/// op.
std::string draw(const Context& c, const std::vector<std::string>& variants, const std::string& dtype,
                 std::int64_t rows, int k, const char* ceiling) {
  std::map<std::string, std::vector<Plot::Point>> best;  // by op
  std::set<std::int64_t> lengths;
  double top = 0;
  for (const std::string& v : variants)
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      lengths.insert(V);
      if (const double s = share(*c.at(v, dtype, rows, V, k)); std::isfinite(s)) top = std::max(top, s);
      const std::string& op = c.ops.find(v)->second;
      if (!best.contains(op)) best[op] = best_of(c, op, dtype, rows, k);
    }
  if (lengths.size() < 2) return "";
  const std::vector<std::int64_t> sizes(lengths.begin(), lengths.end());
  for (const auto& [op, line] : best)
    for (const Plot::Point& p : line) top = std::max(top, p.y);
  // The axis goes up to a whole copy, unless all lines are far below it.
  top = top > 0.3 ? std::clamp(top, 1.0, 1.4) : top;
  std::string out;
  for (const std::string& v : variants) {
    std::vector<Plot::Point> points;
    for (const std::int64_t V : c.sizes(v, dtype, rows, k)) {
      const SweepRecord& r = *c.at(v, dtype, rows, V, k);
      points.push_back(
          {static_cast<double>(V), share(r), fmt::format("V = {}: {}", grouped(V), time_and_speed(r))});
    }
    if (points.empty()) continue;
    Plot plot(size_axis(sizes), {0, 1.05 * top, false, fmt::format("share of the {}", ceiling)},
              fmt::format("{}: share of the {} over V, {}, {} rows", v, ceiling, dtype, rows));
    plot.horizontal(1, "mark");
    plot.line(best.at(c.ops.find(v)->second), "ln best");
    plot.line(points, line_css(v));
    plot.points(points, look(v).marker, look(v).css);
    out += figure(v + c.behind_name(v, k), fmt::format("{}, {} rows", dtype, grouped(rows)), plot.str(),
                  chosen_by(dtype, rows));
  }
  return out;
}

}  // namespace

std::string speed_lines(const Context& c) {
  std::vector<std::string> softmax = {"onepass",      "onepass_fast", "naive_block",         "safe_block",
                                      "online_block", "online_warp",  "register_float4_warp"};
  std::vector<std::string> topk = {"onepass_topk",   "onepass_topk_fast", "onepass_topk_softmax_fast",
                                   "safe_then_topk", "safe_topk_block",   "online_topk_block"};
  std::set<std::string> peers_softmax, peers_topk;
  for (const SweepRecord* r : c.timed)
    if (r->role == "peer") (r->k > 0 ? peers_topk : peers_softmax).insert(variant_of(r->key));
  softmax.insert(softmax.end(), peers_softmax.begin(), peers_softmax.end());
  topk.insert(topk.end(), peers_topk.begin(), peers_topk.end());
  std::string figures;
  for (const std::string& d : c.dtypes)
    for (const std::int64_t rows : kRowOrder)
      figures += draw(c, softmax, d, rows, 0, "copy") + draw(c, topk, d, rows, 5, "read");
  if (figures.empty()) return missing("two V of one number of rows", "assay sweep --rows 4000");
  return "<p>1 is the speed of a device-to-device copy in the same run, of the bytes that any kernel must "
         "move. For softmax with top-k it is the speed of a pass that only reads. Points above 1 come from "
         "caches, or from a copy that is too short to reach its full speed. With few rows the launch limits "
         "the speed, not the memory. The pale line in each panel is the best of all kernels and peers that "
         "compute "
         "the same (also of those without a panel) and were not found wrong, at each V at which at least "
         "half "
         "of this project's were timed.</p>" +
         choice(panels(figures));
}

}  // namespace assay::speed
