// SPDX-License-Identifier: Apache-2.0
// Problems with more elements than 31 or 32 bits can count: many rows, or one long row. On a GPU also many
// rows of the lengths that people use: a kernel may be chosen by rows and V, and statistics may lie in a ring
// of too few rows. Only the rows, or the columns of the one row, that are judged are written before and read
// after the launch. On the host executor, only the blocks that own the judged rows are run.
//
// The one row is -inf except for a few logits at places where an index may wrap. Leaving out logits of -inf
// changes no exact result. So the judged columns alone have the row's softmax, and the ordinary checks judge
// them. Adding exp(-inf) = 0 is exact. So in any order of additions, a path of the sum has at most as many
// roundings as there are finite logits.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/groups/big_buffers.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reference/inputs/families.hpp"

namespace assay::conformance {
namespace {

constexpr std::int64_t kTwo24 = 1 << 24, kTwo31 = std::int64_t{1} << 31, kTwo32 = 2 * kTwo31;
/// Row lengths that take another path than short rows, whose offsets may differ. With the second length there
/// are more rows than grid.y can hold.
constexpr std::int64_t kLonger[] = {8200, 32699, 262147};
/// For a kernel that accepts only finite logits: exp(-300 - m) is 0 in every format. In an exact sum all of
/// them together would add e^-270, far less than the width of any enclosure.
constexpr double kAlmostMinusInfinity = -300;
/// A row of this many columns shows how long a longer one would take, and so which is too long.
constexpr std::int64_t kTrial = kTwo24 + 3;
/// Beyond the first odd column number that f32 cannot represent.
constexpr std::int64_t kPastFloat = kTwo24 + 5;
constexpr int kTrials = 3;
constexpr double kTrialsSeconds = 4;  // no third trial begins after this
constexpr double kSeconds = 120, kTooLong = 45, kFullSeconds = 1200, kFullTooLong = 900;

bool one_row(const ConformanceCase& c) { return c.family == kFewFinite; }

/// On a GPU: rows of a length that is in use, in a launch of at most this many elements. These are two
/// gigabytes of f32 logits, and as much of outputs.
constexpr std::int64_t kMostOfMany = std::int64_t{1} << 29;
constexpr double kManySeconds = 20;
bool is_many(const Variant& v, const ConformanceCase& c) {
  return on_device(v) && !one_row(c) && c.rows * c.V <= kMostOfMany;
}

/// The number of rows that a launch of vocabulary length has: more than two rows for each multiprocessor.
constexpr std::int64_t kRowsOfVocabulary = 1056;
/// Lengths at which kernels take different paths, and numbers of rows beyond 2^13 and 2^16.
constexpr std::int64_t kPaths[] = {7,    33,   64,   100,  128,  256,  300,  512,   768,   1000,
                                   1024, 1500, 2048, 3000, 4096, 5003, 8192, 10007, 16384, 32768};
constexpr std::int64_t kManyRows[] = {8200, 70001};

/// The first and last rows, and in short rows some around multiples of the 132 multiprocessors of a GPU.
std::vector<std::int64_t> rows_among_many(const ConformanceCase& c) {
  std::set<std::int64_t> rows = {0, c.rows - 1};
  if (c.V <= 1 << 14)
    for (const std::int64_t r : {std::int64_t{1}, std::int64_t{131}, std::int64_t{132}, std::int64_t{263},
                                 std::int64_t{264}, c.rows / 2, c.rows - 2})
      if (r > 0 && r < c.rows) rows.insert(r);
  return {rows.begin(), rows.end()};
}

/// Two launches that need most of the memory at once would take it from each other. Launches of many rows
/// need little beside those: they only wait for one another.
std::mutex& one_at_a_time(bool many) {
  static std::mutex large, of_many;
  return many ? of_many : large;
}

/// The first and last row, and the rows where the number of elements before them passes 2^31 and 2^32.
std::vector<std::int64_t> chosen_rows(const ConformanceCase& c) {
  std::vector<std::int64_t> rows = {0};
  for (const std::int64_t edge : {kTwo31, kTwo32})
    for (const std::int64_t r : {edge / c.V - 1, edge / c.V, edge / c.V + 1})
      if (r > rows.back() && r < c.rows) rows.push_back(r);
  if (rows.back() != c.rows - 1) rows.push_back(c.rows - 1);
  return rows;
}

/// A long row, given by its judged columns: the finite logits, their neighbours, the places where a wrapped
/// index would land, both ends, and some random ones.
struct LongRow {
  std::vector<std::int64_t> columns;
  Tensor logits;

  LongRow(Dtype dtype, std::int64_t V, std::uint64_t seed, double low) {
    const std::set<std::int64_t> finite = few_finite_columns(V, seed);
    std::set<std::int64_t> all;
    const auto look = [&](std::int64_t j) {
      if (j >= 0 && j < V) all.insert(j);
    };
    for (const std::int64_t j : finite)
      for (const std::int64_t at : {j - 1, j, j + 1, j - kTwo31, j - kTwo32, j % kTwo31}) look(at);
    for (std::int64_t j = 0; j < 64; ++j) look(j), look(V - 1 - j);
    for (std::uint64_t n = 0; n < 512; ++n)
      look(static_cast<std::int64_t>(scattered(~(64 * seed + n)) % static_cast<std::uint64_t>(V)));
    columns.assign(all.begin(), all.end());
    logits = Tensor(dtype, 1, static_cast<std::int64_t>(columns.size()));
    int n = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
      logits.set(0, static_cast<std::int64_t>(i),
                 finite.contains(columns[i]) ? few_finite_logit(columns[i], n) : low);
  }
};

struct Small {
  Case inputs;
  JudgedPart part;
};

/// Makes one launch of the whole problem, and judges its chosen rows or columns as a separate problem.
Record judged(Bench& bench, Launcher& launcher, const ConformanceCase& c, Small&& small, double low,
              const PartOptions& options) {
  const std::vector<std::int64_t>& rows = small.part.rows;
  small.inputs.is_part(small.part);
  ConformanceCase compact = c;
  compact.rows = static_cast<std::int64_t>(rows.size());
  compact.V = small.inputs.V();
  BigBuffers big(bench.variant(), bench.problem(c), low,
                 drawn_unwritten(drawn_for("big", c.V, c.rows, bench.seed())));
  if (big.no_room()) return bench.unsupported(c, big.no_room());
  for (std::size_t i = 0; i < rows.size(); ++i)
    big.choose(rows[i], small.inputs.logits(), static_cast<std::int64_t>(i), small.part.columns);
  const PartOutcome o = [&] {
    std::unique_lock<std::mutex> lock(one_at_a_time(true), std::defer_lock);
    if (is_many(bench.variant(), c)) lock.lock();
    return launcher.launch_parts(bench.variant(), big.problem(), big.parts(), options);
  }();
  if (!o.no_room.empty()) return bench.unsupported(c, no_room_of(o), o.wants);
  bench.count(o.launch, std::chrono::nanoseconds(static_cast<std::int64_t>(o.seconds * 1e9)));

  Variant as_judged = bench.variant();
  as_judged.launcher = nullptr;  // nobody looked for late writes
  if (one_row(c)) as_judged.claim.height = [](std::int64_t) { return kFiniteLogits; };
  const Bench judge = bench.with(as_judged);
  GuardedLaunch launch = judge.prepare(compact, small.inputs, {});
  for (std::size_t i = 0; i < rows.size() && o.launch.ok(); ++i) big.hand_over(i, launch);
  Record r = judge.judge(compact, small.inputs, launch, o.launch);
  if (o.launch.ok()) {
    require(r, Check::guard, o.guard.empty(), o.guard);
    const std::string changed = big.changed_inputs();
    require(r, Check::inputs, changed.empty(), changed);
    settle(r);
  }
  r.rows = c.rows;
  r.V = c.V;
  r.reproduce = bench.blank(c).reproduce;
  return r;
}

/// If a launch that prepared the case went wrong, the case went wrong.
Record wrong(const Bench& bench, const ConformanceCase& c, const LaunchOutcome& o, Check check) {
  Record r = bench.blank(c);
  require(r, check, false, o.fault, o.kind);
  if (o.ended == Ended::crashed || o.ended == Ended::hung) {
    r.status = o.ended == Ended::crashed ? Status::crashed : Status::hung;
    r.reason = o.fault;
  }
  settle(r);
  return r;
}

Record went_wrong(const Bench& bench, const ConformanceCase& c, const LaunchOutcome& o, Check check,
                  std::chrono::nanoseconds took) {
  bench.count(o, took);
  return wrong(bench, c, o, check);
}

Record many_rows(Bench& bench, Launcher& launcher, const ConformanceCase& c) {
  const Variant& v = bench.variant();
  PartOptions options{{}, 0, bench.options().patience * kSeconds};
  const bool many = is_many(v, c);
  const std::vector<std::int64_t> rows = many ? rows_among_many(c) : chosen_rows(c);
  if (many) options = {{}, 0, bench.options().patience * kManySeconds, true};
  if (on_host(v.backend) || v.on_executor) {
    const auto begin = std::chrono::steady_clock::now();
    const BlockOwners owners = block_owners(v, launcher, bench.problem(c), options.seconds);
    if (!owners.seen.ok())
      return went_wrong(bench, c, owners.seen, owners.check, std::chrono::steady_clock::now() - begin);
    if (owners.rows_per_block == 0) return bench.unsupported(c, owners.why, owners.wants);
    options.rows = rows;
    options.rows_per_block = owners.rows_per_block;
  }
  ConformanceCase compact = c;
  compact.rows = static_cast<std::int64_t>(rows.size());
  return judged(bench, launcher, c, {bench.inputs(compact), {rows, {}}}, 0, options);
}

Record long_row(Bench& bench, Launcher& launcher, const ConformanceCase& c) {
  const Variant& v = bench.variant();
  const bool full = bench.options().extent == Extent::full;
  const double low = v.limits.finite ? kAlmostMinusInfinity : -HUGE_VAL;
  const auto small = [&](std::int64_t V) {
    LongRow row(v.dtype, V, bench.seed(), low);
    return Small{Case(c.family, std::move(row.logits)), {{0}, std::move(row.columns)}};
  };
  // A kernel that gives a row to one thread would take minutes. A caller who names the length has the time.
  const bool named = bench.options().narrow.V.has_value();
  if (c.V > kPastFloat && !named) {
    // The cost that does not depend on the length is the same in both trials. The first launch of a worker
    // also waits for its device and for its kernel's module.
    const auto launch_of = [&](std::int64_t V) {
      BigBuffers trial(v, problem_of(v, c.op, 1, V, c.pick, V), low);
      return launcher.launch_parts(v, trial.problem(), trial.parts(),
                                   {{}, 0, bench.options().patience * kSeconds, true});
    };
    launch_of(kTrial / 16);
    // Other cases are launched at the same time, and a launch may wait for theirs. So the shortest of a few
    // launches counts.
    const auto shortest_of = [&](std::int64_t V) {
      PartOutcome best = launch_of(V);
      double spent = best.seconds;
      for (int i = 1; i < kTrials && best.launch.ok() && best.no_room.empty(); ++i) {
        // One wait can be long, so there is always a second trial.
        if (i > 1 && spent >= kTrialsSeconds) break;
        PartOutcome again = launch_of(V);
        if (!again.no_room.empty()) break;
        spent += again.seconds;
        if (again.seconds < best.seconds || !again.launch.ok()) best = std::move(again);
      }
      return best;
    };
    const PartOutcome shorter = shortest_of(kTrial / 16), o = shortest_of(kTrial);
    const auto failed = [](const PartOutcome& trial) {
      return trial.no_room.empty() && !trial.launch.ok() && trial.launch.ended != Ended::lost;
    };
    for (const auto& [trial, V] : {std::pair(&shorter, kTrial / 16), std::pair(&o, kTrial)})
      if (failed(*trial)) {
        LaunchOutcome seen = trial->launch;
        seen.fault = fmt::format("a row of {} columns: {}", V, seen.fault);
        return went_wrong(bench, c, seen, Check::launch,
                          std::chrono::nanoseconds(static_cast<std::int64_t>(trial->seconds * 1e9)));
      }
    const double a_column =
        std::max(0.0, o.seconds - shorter.seconds) / static_cast<double>(kTrial - kTrial / 16);
    const double expected = o.seconds + a_column * static_cast<double>(c.V - kTrial);
    if (o.launch.ok() && o.no_room.empty() && expected > (full ? kFullTooLong : kTooLong))
      return bench.unsupported(
          c,
          obstacle(Why::time, fmt::format("a row of {} columns took {:.2g} s, this one would take {:.0f} s",
                                          kTrial, o.seconds, expected)),
          FaultKind::time);
  }
  return judged(bench, launcher, c, small(c.V), low,
                {{}, 0, bench.options().patience * (full || named ? kFullSeconds : kSeconds)});
}

void run_big(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const ConformanceCase& c = cases[0];
  // A kernel that runs in this process is copied into a worker.
  Variant apart = bench.variant();
  if (!apart.launcher) try {
      apart = isolated(apart);
    } catch (const InputError& e) {
      return bench.emit(0, bench.unsupported(c, obstacle(Why::launcher, e.what())));
    }
  Launcher* const launcher = apart.launcher.get();
  if (!launcher->launches_parts())
    return bench.emit(0, bench.unsupported(c, obstacle(Why::launcher, "it makes no launches in parts")));
  Bench here = bench.with(apart);
  if (const Obstacle why = here.outside(c, {})) return bench.emit(0, bench.unsupported(c, why));
  // Its worker is kept for the next one, and a usual launch would need another.
  if (is_many(apart, c)) return bench.emit(0, many_rows(here, *launcher, c));
  if (const LaunchOutcome few = here.few_rows_first(c, 0); !few.ok())
    return bench.emit(0, wrong(here, c, few, Check::launch));
  const std::lock_guard<std::mutex> lock(one_at_a_time(false));
  bench.emit(0, one_row(c) ? long_row(here, *launcher, c) : many_rows(here, *launcher, c));
}

}  // namespace

std::vector<Unit> plan_big(const Planning& p) {
  std::vector<Unit> units;
  // Its parts have no gradients, and are not squares.
  if (!not_plain_rows(p.variant, op_of(p)).empty()) return units;
  const bool device = !on_host(p.variant.backend) && !p.variant.on_executor;
  // What takes longer than a quick look is left out. Memory of a CPU holds nothing so large in that time.
  const bool few = device && p.extent == Extent::quick && !p.named;
  if (few && !on_device(p.variant)) return units;
  const auto add = [&](const std::string& family, std::int64_t V, std::int64_t rows) {
    // Only the finite logits of the long row have an order.
    Pick pick = pick_of(p, V);
    if (family == kFewFinite) pick.k = std::min(pick.k, static_cast<int>(kFiniteLogits));
    units.push_back({{{family, V, rows, op_of(p), pick}}, run_big, 1e9, true});
    // They begin one after another, so that few workers are started, and the largest takes its memory first.
    if (is_many(p.variant, units.back().cases[0]))
      units.back().exclusive = false, units.back().weight = 1e8 + static_cast<double>(rows * V);
  };
  const bool long_asked = p.narrow.family == kFewFinite;
  if (!long_asked)
    for (const std::int64_t V :
         sizes_of(p, few ? std::vector<std::int64_t>{1024}
                         : std::vector<std::int64_t>{1024, kLonger[0], kLonger[1], kLonger[2]})) {
      if (V < 2 || V >= kTwo31) continue;
      std::vector<std::int64_t> counts = {kTwo31 / V + 3};
      if (!few && (V < kLonger[0] || p.narrow.V)) counts.push_back(kTwo32 / V + 3);
      // If the declared limit is where an index wraps, its edge is tried.
      const std::int64_t most = p.variant.limits.max_elements;
      if ((most == kTwo31 - 1 || most == kTwo32 - 1) && V < kLonger[0])
        counts.insert(counts.begin(), most / V);
      for (const std::int64_t rows : rows_of(p, counts))
        for (const std::string& family : families_of(p, {"normal_1"})) add(family, V, rows);
    }
  if (!long_asked && on_device(p.variant) && !p.narrow.V && !p.narrow.rows) {
    std::set<std::pair<std::int64_t, std::int64_t>> many;
    const auto plan = [&](std::int64_t usual, std::int64_t rows) {
      for (const std::int64_t V : sizes_of(p, {usual}))
        for (const std::int64_t n : rows_of(p, {rows}))
          if (V >= 2 && n >= 2 && n * V <= kMostOfMany) many.emplace(V, n);
    };
    for (const std::int64_t V : kPaths)
      for (const std::int64_t rows : kManyRows) {
        const bool most = rows == kManyRows[V * kManyRows[1] <= kMostOfMany ? 1 : 0];
        if (most || !few) plan(V, rows);
      }
    for (const Vocabulary& v : vocabularies())
      if (!few || is_common(v)) plan(v.V, kRowsOfVocabulary);
    for (const auto& [V, rows] : many)
      for (const std::string& family : families_of(p, {"normal_1"})) add(family, V, rows);
  }
  // Column numbers that f32 cannot represent; this is fast everywhere.
  if (!p.narrow.V && p.narrow.rows.value_or(1) == 1 && (long_asked || p.narrow.family.empty()) &&
      (device || p.extent != Extent::quick))
    for (const std::int64_t V : sizes_of(p, {kPastFloat}))
      if (V >= 1024) add(kFewFinite, V, 1);
  // The executor takes a minute or more, and as much memory as the outputs need.
  const bool this_one =
      p.narrow.V && (*p.narrow.V >= kTwo31 || *p.narrow.V == kPastFloat) && p.narrow.rows.value_or(1) == 1;
  const bool all = !few && !p.narrow.V && !p.narrow.rows && (device || p.extent == Extent::full);
  if (long_asked || (p.narrow.family.empty() && (this_one || all)))
    for (const std::int64_t V : p.narrow.V ? std::vector<std::int64_t>{*p.narrow.V}
                                           : std::vector<std::int64_t>{kTwo31 + 3, kTwo32 + 3})
      if (V >= 1024) add(kFewFinite, V, 1);
  return units;
}

}  // namespace assay::conformance
