// SPDX-License-Identifier: Apache-2.0
// Faults that show only if something else runs at the same time: two launches at once, logits that arrive
// late on the launch's own stream, outputs that change after the stream was done.
#include <fmt/format.h>

#include "accuracy/conformance/groups/groups.hpp"

namespace assay::conformance {
namespace {

/// LaunchOptions::turns has so many values. Turns find every time what the free run finds by chance; the free
/// run also finds what a launcher keeps to itself between two lines of its own.
constexpr int kTurns = 4;

Record two_at_once(Bench& bench, const ConformanceCase& c) {
  if (!bench.variant().launcher) return bench.unsupported(c, in_this_process());
  if (const Obstacle why = bench.outside(c, {})) return bench.unsupported(c, why);
  Record r = bench.blank(c);
  for (int round = 0; round < 10; ++round) {
    if (!bench.go_on() || r.status == Status::crashed || r.status == Status::hung) break;
    const auto at = static_cast<std::uint64_t>(2 * round);
    const Case a(c.family, make_rows(c.family, bench.variant().dtype, c.V, c.rows, bench.seed() + at));
    const Case b(c.family, make_rows(c.family, bench.variant().dtype, c.V, c.rows, bench.seed() + at + 1));
    Layout layout;
    layout.launch.turns = round % kTurns;
    GuardedLaunch first = bench.prepare(c, a, layout), second = bench.prepare(c, b, layout);
    const auto outcomes = GuardedLaunch::run_both(first, second);
    for (const LaunchOutcome& o : outcomes) bench.count(o);
    fold(r, bench.judge(c, a, first, outcomes[0]), fmt::format("round {}, first of two launches", round + 1));
    fold(r, bench.judge(c, b, second, outcomes[1]),
         fmt::format("round {}, second of two launches", round + 1));
  }
  settle(r);
  return r;
}

Record delayed_producer(Bench& bench, const ConformanceCase& c) {
  // The first launch of a kernel loads it, which may wait for other work on the device.
  if (Record first = bench.judge(c, bench.inputs(c), {});
      first.status != Status::pass && first.status != Status::unsupported)
    return first;
  Layout layout;
  layout.launch.delayed_producer = true;
  return bench.judge(c, bench.inputs(c), layout);
}

Record late_write(Bench& bench, const ConformanceCase& c) {
  if (!bench.variant().launcher) return bench.unsupported(c, in_this_process());
  return bench.judge(c, bench.inputs(c), {});
}

}  // namespace

std::vector<Unit> plan_streams(const Planning& p) {
  struct Kind {
    SetupKind setup;
    Record (*run)(Bench&, const ConformanceCase&);
    std::int64_t V, rows;
  };
  constexpr Kind kKinds[] = {{SetupKind::two_at_once, two_at_once, 1027, 8},
                             {SetupKind::delayed_producer, delayed_producer, 1027, 8},
                             {SetupKind::late_write, late_write, 4099, 16}};
  std::vector<Unit> units;
  for (const Kind& k : kKinds)
    for (const std::int64_t V : sizes_of(p, {k.V}))
      for (const std::int64_t rows : rows_of(p, {k.rows}))
        for (const std::string& family : families_of(p, {"normal_1"}))
          units.push_back(
              {{{family, V, rows, op_of(p), k_of(p, V), k.setup}},
               [run = k.run](Bench& bench, const std::vector<ConformanceCase>& cases) {
                 const bool given = bench.variant().own_stream;
                 bench.emit(
                     0, given ? run(bench, cases[0])
                              : bench.unsupported(cases[0], obstacle(Why::stream, "the kernel takes none")));
               },
               20 * weight_of(rows, V)});
  return units;
}

}  // namespace assay::conformance
