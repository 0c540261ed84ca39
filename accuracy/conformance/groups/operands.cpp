// SPDX-License-Identifier: Apache-2.0
// What a kernel reads in addition to its logits: scale, temperature, mask, bias and lengths. Every other
// group leaves them neutral. Here they are drawn, and the op's result of the resulting logits is judged. For
// causal kernels: the values behind the diagonal, which the kernel must not use.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "accuracy/case/job.hpp"
#include "accuracy/case/operand_values.hpp"
#include "accuracy/conformance/groups/groups.hpp"

namespace assay::conformance {
namespace {

OperandDraw draw_of(const Setup& setup) {
  return setup.kind() == SetupKind::few_left     ? OperandDraw::few_left
         : setup.kind() == SetupKind::long_tails ? OperandDraw::long_tails
                                                 : OperandDraw::ordinary;
}

/// For causal kernels, values that must have no effect. huge_behind: the largest numbers, of either sign.
/// special_behind: NaN, +inf, -inf and the largest number.
void put_behind_diagonal(const Variant& v, const Setup& setup, Tensor& x) {
  const double most = max_finite(v.dtype);
  const double huge = v.limits.max_abs > 0 ? std::min(v.limits.max_abs, most) : most;
  const std::array<double, 4> special = {std::numeric_limits<double>::quiet_NaN(), kInf, huge, -kInf};
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t j = own_columns(v.claim, r, x.V); j < x.V; ++j) {
      const auto kind = static_cast<std::size_t>(r + j) % 4;
      x.set(r, j, setup.kind() == SetupKind::special_behind ? special[kind] : kind == 3 ? -huge : huge);
    }
}

/// Rows that a kernel for small logits accepts.
void shrink(double max_abs, Tensor& x) {
  for (std::int64_t r = 0; r < x.rows && max_abs > 0; ++r) {
    double largest = 0;
    for (std::int64_t j = 0; j < x.V; ++j)
      if (std::isfinite(x.at(r, j))) largest = std::max(largest, std::fabs(x.at(r, j)));
    const double by = std::exp2(std::floor(std::log2(max_abs / largest)));
    for (std::int64_t j = 0; j < x.V && by < 1; ++j) x.set(r, j, x.at(r, j) * by);
  }
}

/// The k or the threshold of the i-th trial. A kernel has other paths for other k.
Pick pick_of_trial(const Planning& p, std::int64_t V, std::size_t i) {
  const Op op = op_of(p);
  if (p.narrow.pick.any() || !picks(op)) return pick_of(p, V);
  if (keeps_a_set(op)) {
    const std::vector<Pick> all = thresholds(op, true);
    return i % 2 == 0 ? usual_pick(op) : all[i / 2 % all.size()];
  }
  constexpr std::array<int, 6> kAll = {5, 1, 33, 129, 300, 64};
  return allowed_k(p.variant, std::min(kAll[i % kAll.size()], p.variant.max_k), V);
}

/// The setups, in their order.
std::vector<Setup> setups_of(const Variant& v) {
  std::vector<Setup> all;
  if (!v.operands.none()) all = {SetupKind::ordinary, SetupKind::few_left, SetupKind::long_tails};
  if (v.claim.causal == Causal::no) return all;
  all.push_back(SetupKind::huge_behind);
  // A caller of a kernel for finite logits has finite ones behind the diagonal too.
  if (!v.limits.finite) all.push_back(SetupKind::special_behind);
  return all;
}

void run_operands(Bench& bench, const std::vector<ConformanceCase>& cases) {
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    const ConformanceCase& c = cases[i];
    const Variant& v = bench.variant_of(c);
    const OperandValues values =
        drawn_operands(v.operands, c.rows, c.V, bench.seed(), draw_of(c.setup), v.limits.finite);
    Tensor stored = make_rows(c.family, v.dtype, c.V, c.rows, bench.seed());
    shrink(v.limits.max_abs, stored);
    if (c.setup.kind() == SetupKind::huge_behind || c.setup.kind() == SetupKind::special_behind)
      put_behind_diagonal(v, c.setup, stored);
    const EffectiveLogits effective = effective_logits(stored, values, v.claim.logits);
    const Case inputs(c.family, stored, effective, bench.options().tier);
    Layout layout;
    layout.poison = c.rows > 1 ? 1 : 0;
    // Apart in the outputs by another pitch, which is not that of the operands.
    if (c.setup.kind() == SetupKind::pitch_operands) layout.in_gap = 5, layout.out_gap = 3;
    bench.emit(i, bench.judge(c, inputs, layout, &values));
  }
}

/// More rows than the blocks that run at once. Then a block that persists takes a second row, with its own
/// mask, bias, length and temperature.
struct Shape {
  std::int64_t V, rows;
};
std::vector<Shape> many_rows(Extent extent) {
  std::vector<Shape> all = {{7, 4225}, {37, 1057}, {160, 600}, {1030, 300}};
  // 132 multiprocessors hold 16 or 32 blocks each.
  if (extent != Extent::quick) all = {{7, 65537}, {37, 4225}, {160, 2113}, {1030, 1057}, {4100, 300}};
  return all;
}

}  // namespace

std::vector<Unit> plan_operands(const Planning& p) {
  std::vector<Unit> units;
  const std::vector<Setup> setups = setups_of(p.variant);
  if (setups.empty()) return units;
  std::size_t trial = 0;
  const auto add = [&](std::int64_t V, const Setup& setup, const std::vector<std::int64_t>& row_counts) {
    const Pick pick = pick_of_trial(p, V, trial++);
    Unit u{{}, run_operands, 0};
    for (const std::string& family : families_of(p, {V % 3 == 0 ? "normal_10" : "normal_3"}))
      for (const std::int64_t rows : row_counts) {
        u.cases.push_back({family, V, rows, op_of(p), pick, setup});
        u.weight += weight_of(rows, V);
      }
    units.push_back(std::move(u));
  };
  // All short rows, then lengths where tiles, warps and blocks end, then long ones.
  std::vector<std::int64_t> lengths;
  for (std::int64_t V = 1; V <= (p.extent == Extent::quick ? 40 : 160); ++V) lengths.push_back(V);
  for (const std::int64_t V :
       {63,  64,   65,   127,  128,  129,  200,  255,  256,  257,  300,  511,   512,   513,
        700, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3001, 4096, 8191, 16384, 32000, 65541})
    lengths.push_back(V);
  if (p.extent != Extent::quick)
    for (const std::int64_t V : {1536, 5000, 8192, 10001, 50257, 65536, 128256, 151936}) lengths.push_back(V);
  for (const std::int64_t V : sizes_of(p, lengths))
    for (const Setup& setup : setups) {
      if (!p.narrow.setup.empty() && Setup(p.narrow.setup) != setup) continue;
      const bool spared =
          p.extent == Extent::quick && V > 40 && V % 2 == 1 && setup.kind() == SetupKind::ordinary;
      if (!spared || p.narrow.V) add(V, setup, rows_of(p, {V <= 4096 ? 5 : 2}));
    }
  // Rows of a mask or of a bias lie as far apart as those of the logits.
  const Operands& o = p.variant.operands;
  if ((o.has(operand::any_mask) || o.has(operand::bias)) && !p.variant.limits.dense)
    for (const std::int64_t V : sizes_of(p, {7, 33, 64, 130, 1000, 4096}))
      if (p.narrow.setup.empty() || Setup(p.narrow.setup).kind() == SetupKind::pitch_operands)
        add(V, SetupKind::pitch_operands, rows_of(p, {5}));
  if (p.narrow.V || p.narrow.rows) return units;
  for (const Shape& shape : many_rows(p.extent))
    for (const std::int64_t V : sizes_of(p, {shape.V}))
      for (const Setup& setup : setups)
        if (p.narrow.setup.empty() || Setup(p.narrow.setup) == setup)
          add(V, setup, {nearest_rows(p.variant.limits, shape.rows)});
  return units;
}

}  // namespace assay::conformance
