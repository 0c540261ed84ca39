// What a kernel reads besides its logits: scale, temperature, mask, bias and lengths. Every other group
// leaves them neutral; here they are drawn, and the softmax of the logits that they make is judged.
#include <fmt/format.h>

#include <optional>

#include "accuracy/conformance/groups.hpp"
#include "accuracy/operand_values.hpp"

namespace assay::conformance {
namespace {

struct Setup {
  const char* name;
  OperandDraw draw;
};
constexpr Setup kSetups[] = {{"ordinary", OperandDraw::ordinary},
                             {"few_left", OperandDraw::few_left},
                             {"long_tails", OperandDraw::long_tails}};

OperandDraw draw_of(const std::string& setup) {
  for (const Setup& s : kSetups)
    if (setup == s.name) return s.draw;
  return OperandDraw::ordinary;
}

void run_operands(Bench& bench, const std::vector<ConformanceCase>& cases) {
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    const ConformanceCase& c = cases[i];
    const Variant& v = bench.variant_of(c);
    const OperandValues values = drawn_operands(v.operands, c.rows, c.V, bench.seed(), draw_of(c.setup));
    const Tensor stored = make_rows(c.family, v.dtype, c.V, c.rows, bench.seed());
    const EffectiveLogits effective = effective_logits(stored, values, v.claim.logits);
    const Case inputs(c.family, stored, effective, bench.options().tier);
    Layout layout;
    layout.poison = c.rows > 1 ? 1 : 0;
    bench.emit(i, bench.judge(c, inputs, layout, &values));
  }
}

/// More rows than a launch has blocks at once: there a block that stays takes a second row, with a mask, a
/// bias, a length and a temperature of its own.
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
  if (p.variant.operands.none()) return units;
  const auto add = [&](std::int64_t V, const Setup& setup, const std::vector<std::int64_t>& row_counts) {
    Unit u{{}, run_operands, 0};
    for (const std::string& family : families_of(p, {V % 3 == 0 ? "normal_10" : "normal_3"}))
      for (const std::int64_t rows : row_counts) {
        u.cases.push_back({family, V, rows, op_of(p), k_of(p, V), setup.name});
        u.weight += weight_of(rows, V);
      }
    units.push_back(std::move(u));
  };
  // Short rows one by one, then where tiles, warps and blocks end, then long ones.
  std::vector<std::int64_t> lengths;
  for (std::int64_t V = 1; V <= (p.extent == Extent::quick ? 40 : 160); ++V) lengths.push_back(V);
  for (const std::int64_t V :
       {63,  64,   65,   127,  128,  129,  200,  255,  256,  257,  300,  511,   512,   513,
        700, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3001, 4096, 8191, 16384, 32000, 65541})
    lengths.push_back(V);
  if (p.extent != Extent::quick)
    for (const std::int64_t V : {1536, 5000, 8192, 10001, 50257, 65536, 128256, 151936}) lengths.push_back(V);
  for (const std::int64_t V : sizes_of(p, lengths))
    for (const Setup& setup : kSetups) {
      if (!p.narrow.setup.empty() && p.narrow.setup != setup.name) continue;
      const bool spared =
          p.extent == Extent::quick && V > 40 && V % 2 == 1 && setup.draw == OperandDraw::ordinary;
      if (!spared || p.narrow.V) add(V, setup, rows_of(p, {V <= 4096 ? 5 : 2}));
    }
  if (p.narrow.V || p.narrow.rows) return units;
  for (const Shape& shape : many_rows(p.extent))
    for (const std::int64_t V : sizes_of(p, {shape.V}))
      for (const Setup& setup : kSetups)
        if (p.narrow.setup.empty() || p.narrow.setup == setup.name)
          add(V, setup, {nearest_rows(p.variant.limits, shape.rows)});
  return units;
}

}  // namespace assay::conformance
