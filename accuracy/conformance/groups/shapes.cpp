// SPDX-License-Identifier: Apache-2.0
// Row lengths V and row counts. There are thousands of cases: each is one launch, and the exact results of a
// row are computed once for all cases that have it.
#include <algorithm>
#include <set>
#include <tuple>

#include "accuracy/conformance/groups/groups.hpp"

namespace assay::conformance {
namespace {

/// Guard bands hold NaN if there is one row, and a large finite number if there are several. A wrong tail
/// reads the next row, or what lies behind the last one.
void run_shape(Bench& bench, const std::vector<ConformanceCase>& cases) {
  std::int64_t rows = 0;
  for (const ConformanceCase& c : cases) rows = std::max(rows, c.rows);
  const Case inputs = bench.inputs(cases[0], rows);
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    Layout layout;
    layout.poison = cases[i].rows > 1 ? 1 : 0;
    bench.emit(i, bench.judge(cases[i], inputs, layout));
  }
}

}  // namespace

std::vector<Unit> plan_shapes(const Planning& p) {
  std::vector<Unit> units;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> planned;
  // One row lies at an address of its own choice; several dense rows that must be aligned need a length that
  // keeps them so. The cases of one length share their inputs.
  const auto add = [&](std::int64_t usual, const std::string& family, const std::vector<std::int64_t>& rows) {
    bool begun = false;
    for (const std::int64_t n : rows) {
      const std::int64_t V = p.narrow.V ? *p.narrow.V : nearest_V(p.variant, usual, n);
      if (!planned.insert({family, V, n}).second) continue;
      if (!begun || units.back().cases[0].V != V) units.push_back({{}, run_shape, 0});
      begun = true;
      units.back().cases.push_back({family, V, n, op_of(p), pick_of(p, V)});
      units.back().weight += weight_of(n, V);
    }
  };
  const auto usual = [&](std::vector<std::int64_t> sizes) {
    return p.narrow.V ? std::vector<std::int64_t>{*p.narrow.V} : sizes;
  };
  for (const std::int64_t V : usual(shape_sizes(p.extent)))
    // So long a serial sum cannot be distinguished from a wrong one, unless its terms are equal.
    for (const std::string& family : families_of(p, p.extent == Extent::quick && V > 1 << 17
                                                        ? std::vector<std::string>{"constant"}
                                                        : std::vector<std::string>{"constant", kShifted})) {
      // Beyond the exhaustive part one row count is enough: faults that depend on it show at shorter rows.
      const bool both = V <= 4098 && p.extent != Extent::quick;
      add(V, family,
          rows_of(p, both ? std::vector<std::int64_t>{1, 3}
                          : std::vector<std::int64_t>{family == kShifted ? 3 : 1}));
    }
  if (p.narrow.V) return units;
  // One row of one family each; its logits differ for every dtype.
  for (const std::int64_t V : sizes_between(p.extent))
    for (const std::string& family : families_of(p, {"normal_1"})) add(V, family, rows_of(p, {1}));
  return units;
}

std::vector<Unit> plan_rows(const Planning& p) {
  // 132 multiprocessors with 2048 threads each hold at most 270,336 rows at once, with one row per thread.
  // Whole multiples of that, and powers of two: at these a launcher that works in chunks has no remainder.
  constexpr std::int64_t kMultiprocessors = 132;
  std::vector<std::int64_t> counts = {0, 1, 2, 3, 31, 257, 65535, 65536};
  if (p.extent == Extent::quick) counts = {0, 1, 2, 3, 31, 257, 4096, 4097};
  for (std::int64_t wave = kMultiprocessors;
       wave <= (p.extent == Extent::quick ? 32 : 128) * kMultiprocessors; wave *= 2)
    counts.push_back(wave);
  // More than grid.y can hold. The executor takes ten seconds for it; there the rows of group `big` test
  // this.
  if (p.extent == Extent::quick && !on_host(p.variant.backend) && !p.variant.on_executor)
    counts.push_back(65536);
  if (p.extent == Extent::full || (p.extent == Extent::normal && !on_host(p.variant.backend)))
    counts.push_back(kMultiprocessors * 2048 + 1);
  std::vector<Unit> units;
  const auto add = [&](std::int64_t V, std::int64_t rows, const std::vector<std::string>& usual) {
    for (const std::string& family : families_of(p, usual))
      units.push_back({{{family, V, rows, op_of(p), pick_of(p, V)}}, run_shape, weight_of(rows, V)});
  };
  for (const std::int64_t V : sizes_of(p, {7}))
    for (const std::int64_t rows : rows_of(p, counts)) add(V, rows, {"row_drawn"});
  if (p.narrow.V || p.narrow.rows) return units;
  // More rows than multiprocessors, at lengths that take other paths than short rows.
  struct Shape {
    std::int64_t V, rows;
  };
  std::vector<Shape> shapes = {{129, 600}, {2050, 600}, {160, 1100}, {1030, 1100}};
  if (p.extent != Extent::quick)
    shapes = {{33, 4097},
              {129, 1025},
              {160, 2100},
              {300, 1100},
              {500, 600},
              {640, 1300},
              {1030, 1100},
              {1500, 600},
              {2050, 1040},
              {4100, 1040},
              {5000, 300},
              {7900, 1040},
              {10001, 140},
              {20000, 140},
              // As in a training step: rows of vocabulary length, and more rows than the machine holds at
              // once.
              {16400, 530},
              {32000, 270},
              {50257, 136},
              {128256, 40}};
  for (const Shape& s : shapes)
    if (const auto fits = sizes_of(p, {s.V}); !fits.empty()) {
      // The executor takes a second for the largest.
      const bool large = s.rows * s.V > std::int64_t{1} << 22;
      add(fits[0], nearest_rows(p.variant.limits, s.rows),
          large ? std::vector<std::string>{"row_drawn"} : std::vector<std::string>{"row_drawn", kMedley});
    }
  return units;
}

}  // namespace assay::conformance
