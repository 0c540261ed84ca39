// SPDX-License-Identifier: Apache-2.0
// Row lengths V and row counts. There are thousands of cases: each is one launch, and the exact results of a
// row are computed once for all cases that have it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "accuracy/conformance/groups/groups.hpp"
#include "kernels/candidate.hpp"

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
  const bool host = on_host(p.variant.backend) || p.variant.on_executor;
  // A few rows of one family each; its logits differ for every dtype. On a GPU these are many, and the first
  // cases show a limit as well: so they wait for a contract.
  std::size_t before = units.size();
  const auto wait = [&] {
    for (std::size_t i = before; i < units.size(); ++i) units[i].later = true;
  };
  const bool gpu = on_device(p.variant);
  for (const std::int64_t V : sizes_between(p.extent, gpu))
    for (const std::string& family : families_of(p, {"normal_1"}))
      add(V, family, rows_of(p, {!gpu || V % 3 == 0 ? 1 : V % 3 == 1 ? 3 : 7}));
  if (gpu)
    for (const std::int64_t V : sizes_of_every_remainder())
      for (const std::string& family : families_of(p, {"normal_1"})) add(V, family, rows_of(p, {1}));
  if (gpu) wait();
  // The lengths that kernels are called with. Nothing is searched there.
  before = units.size();
  for (const Vocabulary& v : vocabularies()) {
    if (host && p.extent == Extent::quick && !is_common(v)) continue;
    for (const std::string& family : families_of(p, {"normal_1", kPeakAtEnds}))
      add(v.V, family, rows_of(p, {family == kPeakAtEnds ? 3 : 1}));
  }
  wait();
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
      units.push_back(
          {{{family, V, rows, op_of(p), pick_of(p, V)}}, run_shape, weight_of(rows, V), rows > 300});
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

// Launches that must agree: the same one a hundred times, the same row in other batches, other schedules.
// Bits are compared where the claim promises equal bits. Outputs that differ are judged in any case.

namespace {

constexpr int kLaunches = 100, kSchedules = 16;

/// Runs the case under each layout, and compares each with the first.
Record agreeing(const Bench& bench, const ConformanceCase& c, const Case& inputs,
                const std::vector<Layout>& layouts, const char* what) {
  const Variant& v = bench.variant();
  if (const Obstacle why = bench.outside(c, layouts[0])) return bench.unsupported(c, why);
  GuardedLaunch first = bench.prepare(c, inputs, layouts[0]);
  Record r = bench.judge(c, inputs, first, bench.run(first));
  if (r.status == Status::crashed || r.status == Status::hung) return r;
  std::int64_t differing = 0;
  for (std::size_t n = 1; n < layouts.size() && bench.go_on(); ++n) {
    GuardedLaunch again = bench.prepare(c, inputs, layouts[n]);
    const LaunchOutcome outcome = bench.run(again);
    const std::string where = outcome.ok() ? difference(v, inputs, c.op, first, again) : outcome.fault;
    if (v.claim.determinism != Determinism::not_guaranteed)
      require(r, Check::repeat, where.empty(), fmt::format("{} {}: {}", what, n + 1, where));
    if (where.empty() && n + 1 < layouts.size()) continue;
    if (!where.empty()) ++differing;
    // Equal bits are as right as those of the first launch. The buffers around them are checked once more at
    // the end.
    fold(r, bench.judge(c, inputs, again, outcome), fmt::format("{} {}", what, n + 1));
    if (r.status == Status::crashed || r.status == Status::hung) return r;
  }
  settle(r);
  if (r.status == Status::pass && differing > 0)
    r.reason =
        fmt::format("{} of {} {}es differ from the first and are right", differing, layouts.size(), what);
  return r;
}

std::vector<Unit> plan_agreeing(const Planning& p, std::vector<std::int64_t> sizes, std::int64_t rows,
                                std::vector<Layout> layouts, const char* what) {
  std::vector<Unit> units;
  for (const std::int64_t V : sizes_of(p, std::move(sizes)))
    for (const std::int64_t n : rows_of(p, {rows}))
      for (const std::string& family : families_of(p, {"normal_1"}))
        units.push_back({{{family, V, n, op_of(p), pick_of(p, V)}},
                         [layouts, what](Bench& bench, const std::vector<ConformanceCase>& cases) {
                           bench.emit(0, agreeing(bench, cases[0], bench.inputs(cases[0]), layouts, what));
                         },
                         weight_of(n, V) * static_cast<double>(layouts.size())});
  return units;
}

/// Row 0 of the case's family in a batch of `rows` others: first, in the middle and last. For a causal
/// kernel, the first square.
void run_batch(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const ConformanceCase& c = cases[0];
  if (const Obstacle why = bench.outside(c, {})) {
    bench.emit(0, bench.unsupported(c, why));
    return;
  }
  const Variant& v = bench.variant();
  ConformanceCase alone = c;
  // As few rows as the kernel accepts; the first is the one that is compared.
  alone.rows = whole_squares(v, c.V, nearest_rows(v.limits, 1));
  const std::int64_t block = v.claim.causal == Causal::no || c.V == 0 ? 1 : c.V;
  const Case one = bench.inputs(c, alone.rows);
  GuardedLaunch single = bench.prepare(alone, one, {});
  Record r = bench.blank(c);
  fold(r, bench.judge(alone, one, single, bench.run(single)), "the row alone");
  for (const std::int64_t at : {std::int64_t{0}, c.rows / 2 / block * block, c.rows - block}) {
    if (r.status == Status::crashed || r.status == Status::hung) break;
    Tensor t = make_rows("row_drawn", v.dtype, c.V, c.rows, bench.seed());
    if (c.V > 0)
      std::memcpy(t.row(at), one.logits().row(0), static_cast<std::size_t>(block * c.V) * size_of(v.dtype));
    const Case batch(c.family, std::move(t));
    GuardedLaunch launch = bench.prepare(c, batch, {});
    const LaunchOutcome outcome = bench.run(launch);
    fold(r, bench.judge(c, batch, launch, outcome), fmt::format("row {} of {}", at, c.rows));
    if (!v.claim.batch_invariant || !outcome.ok()) continue;
    std::string where;
    for (std::int64_t i = 0; i < block; ++i) {
      const std::int64_t own = own_columns(v.claim, i, single.problem().out_columns());
      for (std::int64_t j = 0; j < own && where.empty(); ++j) {
        const std::uint64_t a = single.value_bits(i, j), b = launch.value_bits(at + i, j);
        if (a != b && !(is_nan_bits(v.out(), a) && is_nan_bits(v.out(), b)))
          where = fmt::format("column {} is {:a} alone and {:a} as row {} of {}", j, decode(v.out(), a),
                              decode(v.out(), b), at + i, c.rows);
      }
    }
    require(r, Check::batch, where.empty(), where);
  }
  settle(r);
  bench.emit(0, std::move(r));
}

}  // namespace

std::vector<Unit> plan_repeat(const Planning& p) {
  std::vector<std::int64_t> sizes = {33, 1025};
  if (p.extent != Extent::quick) sizes.push_back(4099);
  return plan_agreeing(p, sizes, p.extent == Extent::quick ? 2 : 4, std::vector<Layout>(kLaunches), "launch");
}

std::vector<Unit> plan_schedules(const Planning& p) {
  if (!on_host(p.variant.backend) && !p.variant.on_executor) {
    Unit u{{{"normal_1", 1025, 5, op_of(p), pick_of(p, 1025)}},
           [](Bench& bench, const std::vector<ConformanceCase>& cases) {
             bench.emit(
                 0, bench.unsupported(cases[0], obstacle(Why::executor, "only there an order is a seed")));
           }};
    return {std::move(u)};
  }
  std::vector<Layout> layouts(1);
  for (int n = 1; n <= kSchedules; ++n)
    layouts.push_back(
        {.launch = {.schedule = std::max<std::uint64_t>(1, drawn(p.seed, static_cast<std::uint64_t>(n))),
                    .max_blocks = n % 3}});
  return plan_agreeing(p, {33, 257, 1025, 4099}, 5, layouts, "schedule");
}

std::vector<Unit> plan_batch(const Planning& p) {
  std::vector<Unit> units;
  const auto add = [&](std::int64_t V, std::int64_t rows) {
    for (const std::string& family : families_of(p, {"normal_1"}))
      units.push_back({{{family, V, nearest_rows(p.variant.limits, rows), op_of(p), pick_of(p, V)}},
                       run_batch,
                       3 * weight_of(rows, V)});
  };
  for (const std::int64_t V : sizes_of(p, {33, 1025}))
    for (const std::int64_t rows : rows_of(p, {2, 33, 133, 300})) add(V, rows);
  if (p.narrow.V || p.narrow.rows) return units;
  // Rows long enough for a separate path, and a full grid.
  for (const std::int64_t V : sizes_of(p, {5003, 10000})) add(V, 33);
  if (p.extent != Extent::quick)
    for (const std::int64_t V : sizes_of(p, {2048})) add(V, 600);
  return units;
}

}  // namespace assay::conformance
