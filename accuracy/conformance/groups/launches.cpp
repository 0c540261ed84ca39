// SPDX-License-Identifier: Apache-2.0
// Launches for a tool that watches the kernel, such as racecheck: lengths at which a kernel takes another
// path, each launched once. Outputs are not judged.
#include <algorithm>

#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/says_no.hpp"
#include "accuracy/status.hpp"

namespace assay::conformance {
namespace {

Record launched(const Bench& bench, const ConformanceCase& c) {
  if (const Obstacle why = bench.outside(c, {})) return bench.unsupported(c, why);
  const Case inputs = bench.inputs(c);
  GuardedLaunch launch = bench.prepare(c, inputs, {});
  const LaunchOutcome outcome = bench.run(launch);
  Record r = bench.blank(c);
  if (outcome.ended == Ended::lost) {
    decide(r, {outcome.ended, outcome.fault, outcome.kind});
    return r;
  }
  // A size that the kernel refuses is not watched, and is no fault here.
  if (!outcome.ok() && says_no(outcome.kind) && outcome.ended == Ended::fault)
    return bench.unsupported(c, {Why::refused, outcome.fault});
  require(r, Check::launch, outcome.ok(), outcome.fault, outcome.kind);
  r.rows_judged = 1;  // of the launch
  const bool over = outcome.ended == Ended::crashed || outcome.ended == Ended::hung;
  if (over)
    decide(r, {outcome.ended, outcome.fault, outcome.kind});
  else
    settle(r);
  return r;
}

}  // namespace

std::vector<Unit> plan_launches(const Planning& p) {
  Unit u;
  const auto add = [&](std::int64_t V, std::int64_t rows) {
    for (const std::string& family : families_of(p, {"normal_1"}))
      u.cases.push_back({family, V, rows, op_of(p), k_of(p, V), {}});
    u.weight += weight_of(rows, V);
  };
  // One row per thread, per warp, per block; a block that passes over its row again; rows that hand columns
  // to other blocks.
  for (const std::int64_t V : sizes_of(p, {1, 33, 100, 259, 1024, 4099, 20000}))
    for (const std::int64_t rows : rows_of(p, {3})) add(V, rows);
  // Several rows per block, and more than one block.
  if (!p.narrow.V)
    for (const std::int64_t V : sizes_of(p, {64}))
      for (const std::int64_t rows : rows_of(p, {37, 64})) add(V, rows);
  u.run = [](Bench& bench, const std::vector<ConformanceCase>& cases) {
    for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) bench.emit(i, launched(bench, cases[i]));
  };
  return {std::move(u)};
}

}  // namespace assay::conformance
