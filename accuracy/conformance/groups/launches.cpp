// SPDX-License-Identifier: Apache-2.0
// Three groups: launches for a tool that watches, the layout of buffers, and what else runs at the same time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/status.hpp"
#include "kernels/candidate.hpp"

namespace assay::conformance {

// Launches for a tool that watches the kernel, such as racecheck: lengths at which a kernel takes another
// path, each launched once. Outputs are not judged.

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
      u.cases.push_back({family, V, rows, op_of(p), pick_of(p, V), {}});
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

// The layout of the buffers: pitches with poisoned gaps, first rows off alignment, guard bands of NaN and of
// a large finite number, the end of a page, outputs over the logits (in place).

namespace {

constexpr std::size_t kWideGuard = std::size_t{1} << 16;

/// The layouts by their setup.
std::vector<std::pair<Setup, Layout>> layouts(const Planning& p) {
  std::vector<std::pair<Setup, Layout>> all;
  const auto add = [&](Setup setup, Layout l) { all.emplace_back(std::move(setup), l); };
  const std::int64_t extra = p.narrow.pitch && p.narrow.V ? *p.narrow.pitch - *p.narrow.V : 0;
  const auto gap = [&](std::int64_t usual) { return extra > 0 ? extra : usual; };
  add(SetupKind::guard_nan, {.poison = 0, .guard = kWideGuard});
  add(SetupKind::guard_finite, {.poison = 1, .guard = kWideGuard});
  add(SetupKind::outputs_finite, {.poison = 1, .outputs = Stale::finite, .guard = kWideGuard});
  add(SetupKind::pitch_logits, {.in_gap = gap(3), .poison = 1});
  add(SetupKind::pitch_probs, {.out_gap = gap(3), .poison = 1});
  add(SetupKind::pitch_both, {.in_gap = gap(5), .out_gap = gap(5), .poison = 0});
  add(SetupKind::pitch_unequal, {.in_gap = gap(8), .out_gap = gap(24), .poison = 1});
  const auto element =
      static_cast<std::int64_t>(std::max(size_of(p.variant.dtype), size_of(p.variant.out())));
  const auto shift = static_cast<std::int64_t>(std::min(size_of(p.variant.dtype), size_of(p.variant.out())));
  for (std::int64_t bytes = shift; bytes < 16 * shift / element + shift && bytes < 16; bytes += shift)
    add({SetupKind::offset, bytes}, {.offset = bytes / shift, .poison = static_cast<int>(bytes / shift % 2)});
  // Offset by whole vectors from an allocator's address.
  for (std::int64_t bytes = 16; bytes <= 128; bytes *= 2)
    add({SetupKind::offset, bytes}, {.offset = bytes / shift, .poison = 1});
  // The logits aligned and the outputs not, and vice versa.
  add(SetupKind::probs_off, {.out_offset = 1, .poison = 1});
  add(SetupKind::logits_off, {.offset = 1, .out_offset = -1, .poison = 0});
  add(SetupKind::in_place, {.poison = 1, .launch = {.in_place = true}});
  add(SetupKind::page_end, {.poison = 1, .launch = {.page_end = true}});
  return all;
}

}  // namespace

std::vector<Unit> plan_layout(const Planning& p) {
  std::vector<Unit> units;
  const std::map<Setup, Layout> by_name = [&] {
    const auto all = layouts(p);
    return std::map<Setup, Layout>(all.begin(), all.end());
  }();
  // Rows that end at, before and after a vector of 2, 4 and 8; one long enough for a vectorised path; rows
  // shorter than any vector, which a copy of fixed size overruns.
  std::vector<std::int64_t> sizes = {1, 3, 33, 64, 1000, 1027, 4096, 5001};
  if (p.extent != Extent::quick) sizes.insert(sizes.end(), {8192, 10003, 20000});
  for (const std::int64_t V : sizes_of(p, sizes))
    for (const std::int64_t rows : rows_of(p, {3}))
      for (const std::string& family : families_of(p, {"row_drawn"})) {
        Unit u;
        for (const auto& [setup, layout] : layouts(p)) {
          if (layout.launch.in_place &&
              (one_value(op_of(p)) || op_of(p) == Op::normalizer || selects(op_of(p))))
            continue;
          u.cases.push_back({family, V, rows, op_of(p), pick_of(p, V), setup});
          u.weight += weight_of(rows, V);
        }
        u.run = [by_name](Bench& bench, const std::vector<ConformanceCase>& cases) {
          const Case inputs = bench.inputs(cases[0]);
          for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i)
            bench.emit(i, bench.judge(cases[i], inputs, by_name.at(cases[i].setup)));
        };
        units.push_back(std::move(u));
      }
  const Launcher* const launcher = p.variant.launcher.get();
  if (p.narrow.V || !launcher || !launcher->cannot(by_name.at("page_end").launch).empty()) return units;
  // A read of one column too many changes no result. So every remainder that a vector, a warp or a tile of 64
  // may leave ends at a page boundary once, in rows of one tile and in longer ones.
  std::vector<std::int64_t> rests;
  for (std::int64_t V = 2; V < 64; ++V) rests.insert(rests.end(), {V, 1088 + V});
  std::erase_if(rests,
                [&](std::int64_t V) { return std::find(sizes.begin(), sizes.end(), V) != sizes.end(); });
  for (const std::int64_t V : sizes_of(p, rests))
    for (const std::int64_t rows : rows_of(p, {3}))
      for (const std::string& family : families_of(p, {"row_drawn"}))
        units.push_back(
            {{{family, V, rows, op_of(p), pick_of(p, V), "page_end"}},
             [end = by_name.at("page_end")](Bench& bench, const std::vector<ConformanceCase>& cases) {
               bench.emit(0, bench.judge(cases[0], bench.inputs(cases[0]), end));
             },
             weight_of(rows, V)});
  return units;
}

// Faults that show only if something else runs at the same time: two launches at once, logits that arrive
// late on the launch's own stream, outputs that change after the stream was done.

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
              {{{family, V, rows, op_of(p), pick_of(p, V), k.setup}},
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
