// SPDX-License-Identifier: Apache-2.0
// Launches that must agree: the same one a hundred times, the same row in other batches, other schedules.
// Bits are compared where the claim promises equal bits. Outputs that differ are judged in any case.
#include <fmt/format.h>

#include <cstring>

#include "accuracy/conformance/groups/causal_plan.hpp"
#include "accuracy/conformance/groups/groups.hpp"

namespace assay::conformance {
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
