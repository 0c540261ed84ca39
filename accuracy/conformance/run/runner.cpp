// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/status.hpp"
#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"

namespace assay::conformance {
namespace {

/// The record of a case that showed nothing.
Record lost(const Bench& bench, const ConformanceCase& c, const LaunchOutcome& outcome) {
  Record r = bench.blank(c);
  decide(r, {Ended::lost, outcome.fault, outcome.kind});
  return r;
}

/// True if what was lost takes the record's place. A kernel whose process ended again and again did not pass;
/// where it failed, it failed.
bool replaces(const LaunchOutcome& lost, const Record* r) {
  return !lost.ok() && !(lost.kind == FaultKind::died && r && r->status != Status::pass);
}

std::string kept_name(const ConformanceOptions& o, const Record& blank) {
  return o.run_name + "|" + identity(blank);
}

Stage stage_of(const PlannedUnit& p) {
  return p.unit.later ? std::max(p.group->stage, Stage::later) : p.group->stage;
}

/// Most of the time a thread whose launches are made with others' waits for them.
constexpr int kThreadsOfACore = 2;
/// Workers of their own, beside the one that threads share. Each has a context on the device, which takes
/// long to make, and contexts take turns.
constexpr int kWorkersBeside = 2;
/// The alignment of an allocator, which every kernel takes.
constexpr std::int64_t kAligned = 256;
/// Once so many cases that failed among others have failed alone, too, the others are believed.
constexpr int kAgreed = 3;

/// True if its launches may be made together with others'. The rest starts a process, or asks what a kernel
/// does that promised nothing, or is waited for longer.
bool may_share(const PlannedUnit& p) {
  return p.group->together && !p.unit.exclusive &&
         std::all_of(p.unit.cases.begin(), p.unit.cases.end(), [](const ConformanceCase& c) {
           // A batch holds little memory: of short rows it may be many.
           return !c.variant && c.family != kProbeFamily && c.V > 0 && c.rows > 0 &&
                  (c.rows <= 1 << 14 || (c.rows <= 1 << 17 && c.rows * c.V <= 1 << 21));
         });
}

Disturbance disturbance_of(const Variant& v) {
  return v.launcher ? v.launcher->disturbance() : Disturbance();
}

}  // namespace

Runner::Runner(UnitPlan plan, const ConformanceOptions& options) : plan_(std::move(plan)), options_(options) {
  for (const PlannedUnit& p : plan_.units) patience_[p.group].deaths = &deaths_;
  records.resize(plan_.records);
  has_run.resize(plan_.records);
  disturbed.resize(plan_.records);
  begun_.assign(plan_.units.size(), 0);
}

void Runner::run(const Variant& first, const std::function<Variant()>& make, int threads, Stage up_to) {
  // With few threads it is soon known whether a case fails if the longest units do not come first.
  const bool by_stage = options_.hold && workers_for(plan_.units.size(), threads) < 4;
  const bool shares = threads > 1 && first.launcher && first.launcher->shares_launches();
  failed_ = holds_ = wrong_ = stopped_ = false;
  Lane own, together;
  const auto plan_lanes = [&] {
    own = {}, together = {.shared = true};
    for (std::size_t i = 0; i < plan_.units.size(); ++i) {
      const PlannedUnit& p = plan_.units[i];
      const Stage stage = stage_of(p);
      if (begun_[i] || stage > up_to) continue;
      Lane& lane = shares && may_share(p) ? together : own;
      lane.at.push_back(i);
      lane.units.push_back(
          {.weight = by_stage && stage != Stage::first ? p.unit.weight * 1e-30 : p.unit.weight,
           .exclusive = p.unit.exclusive});
    }
  };
  plan_lanes();
  // Its worker begins while the first one works.
  std::future<Variant> another;
  if (!together.at.empty() && !own.at.empty()) another = std::async(std::launch::async, make);
  run_first(first, up_to);
  plan_lanes();
  const auto same = [&] { return first; };
  if (together.at.empty() || own.at.empty()) {
    if (!own.at.empty()) run_lane(own, shares ? std::min(threads, 1 + kWorkersBeside) : threads, first, make);
    if (!together.at.empty()) run_lane(together, kThreadsOfACore * threads, first, same);
    return;
  }
  bool scarce = false;  // of processes; then the units wait for the one worker
  parallel_for(2, 2, [&](std::size_t lane) {
    if (lane == 0) return run_lane(together, kThreadsOfACore * threads, first, same);
    std::optional<Variant> second;
    try {
      second = another.get();
    } catch (const EnvironmentError&) {
      scarce = true;
      return;
    }
    run_lane(own, std::min(threads, kWorkersBeside), *second, make);
  });
  if (scarce) run_lane(own, 1, first, make);
}

void Runner::run_first(const Variant& first, Stage up_to) {
  if (!options_.hangs || !first.launcher) return;
  // Lengths at which kernels for few lengths work, and others; then the shortest.
  constexpr std::int64_t kFew = 1 << 13, kFirst[] = {64, 1024, 33, 256, 7, 1, 2048, 100};
  constexpr std::size_t kMost = 16;
  std::vector<std::size_t> small;
  for (std::size_t i = 0; i < plan_.units.size(); ++i) {
    const PlannedUnit& p = plan_.units[i];
    if (!begun_[i] && stage_of(p) <= (options_.hold ? Stage::first : up_to) && may_share(p) &&
        std::ranges::all_of(p.unit.cases, [](const ConformanceCase& c) { return c.V * c.rows <= kFew; }))
      small.push_back(i);
  }
  const auto order = [&](std::size_t i) {
    const Unit& u = plan_.units[i].unit;
    return std::tuple(std::ranges::find(kFirst, u.cases[0].V) - std::begin(kFirst), u.weight, i);
  };
  std::ranges::sort(small, {}, order);
  if (small.size() > kMost) small.resize(kMost);
  Bench bench(first, options_);
  for (const std::size_t i : small) {
    if (options_.hangs->has_answered() || options_.hangs->over() || (options_.fail_fast && wrong_)) return;
    begun_[i] = 1;
    run_unit(bench, plan_.units[i], false);
  }
}

void Runner::run_lane(const Lane& lane, int threads, const Variant& first,
                      const std::function<Variant()>& make) {
  std::vector<std::unique_ptr<Bench>> benches(
      static_cast<std::size_t>(workers_for(lane.units.size(), threads)));
  benches[0] = std::make_unique<Bench>(first, options_);
  bool scarce = false;
  run_units(
      lane.units, threads,
      [&](std::size_t i, int worker) {
        const PlannedUnit& p = plan_.units[lane.at[i]];
        if (options_.hold && failed_ && stage_of(p) == Stage::later) {
          holds_ = true;
          return;
        }
        if (options_.fail_fast && wrong_) {
          stopped_ = true;
          return;
        }
        begun_[lane.at[i]] = 1;
        run_unit(*benches[static_cast<std::size_t>(worker)], p, lane.shared);
      },
      [&](int worker) {
        if (scarce) return false;
        try {
          benches[static_cast<std::size_t>(worker)] = std::make_unique<Bench>(make(), options_);
        } catch (const EnvironmentError&) {
          scarce = true;  // fewer threads do
        }
        return !scarce;
      });
}

Record Runner::alone(const Variant& variant, std::size_t record, Disturbance* disturbance) const {
  variant.launcher->restart();
  variant.launcher->disturbance();
  // What hung before does not keep this case from being launched.
  ConformanceOptions options = options_;
  if (options.hangs) options.hangs = std::make_shared<Hangs>();
  options.tell = {};
  Bench bench(variant, options);
  Patience patience;
  const PlannedUnit& p = unit_of(record);
  const ConformanceCase& c = p.unit.cases[record - p.first];
  std::optional<Record> made;
  bench.enter(*p.group, patience, [&](std::size_t, Record r) { made = std::move(r); });
  p.unit.run(bench, {c});
  const Disturbance d = variant.launcher->disturbance();
  if (disturbance) *disturbance = d;
  if (replaces(d.lost, made ? &*made : nullptr)) return lost(bench, c, d.lost);
  return made ? std::move(*made)
              : lost(bench, c, lost_for_want(FaultKind::other, "no record was made of it"));
}

const PlannedUnit& Runner::unit_of(std::size_t record) const {
  const auto after = std::upper_bound(plan_.units.begin(), plan_.units.end(), record,
                                      [](std::size_t at, const PlannedUnit& p) { return at < p.first; });
  return *(after - 1);
}

void Runner::run_unit(Bench& bench, const PlannedUnit& p, bool shared) {
  Patience& patience = patience_.at(p.group);
  const std::vector<ConformanceCase>& all = p.unit.cases;
  // The cases whose kernel can be launched here, their positions among all cases, and why the others cannot.
  std::vector<ConformanceCase> cases;
  std::vector<std::size_t> place;
  std::vector<std::string> why(all.size());
  std::vector<bool> emitted(all.size(), false);
  // Cases that failed, undisturbed, with launches that were made together with others'.
  std::vector<std::pair<std::size_t, Record>> doubted;
  const LaunchesWhile wanted([this] { return !(options_.hangs && options_.hangs->over()); });
  disturbance_of(bench.variant());
  bench.enter(*p.group, patience, [&](std::size_t n, Record r) {
    const std::size_t i = place[n];
    // What was shown before a launch was left out counts.
    if (wanted.left() && r.status != Status::fail && r.status != Status::crashed && r.status != Status::hung)
      return;
    emitted[i] = true;
    const Disturbance d = disturbance_of(bench.variant());
    if (shared && r.status == Status::fail && !d.any() && agreed_ < kAgreed) {
      doubted.emplace_back(i, std::move(r));
      return;
    }
    if (replaces(d.lost, &r))
      r = lost(bench, all[i], d.lost);
    else if (d.any() && r.status != Status::hung && r.status != Status::crashed)
      r.at_first = d.saw;
    keep(bench, all[i], r, d);
    put(p, p.first + i, std::move(r), d);
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::optional<Record> r = earlier(bench, patience, all[i])) {
      emitted[i] = true;
      put(p, p.first + i, std::move(*r), {});
      continue;
    }
    const bool same = i > 0 && all[i].variant == all[i - 1].variant;
    why[i] = same ? why[i - 1] : cannot_launch(bench.variant_of(all[i]));
    if (!why[i].empty()) continue;
    cases.push_back(all[i]);
    place.push_back(i);
  }
  if (!cases.empty() && bench.go_on()) {
    const LaunchesTogether together(shared);
    p.unit.run(bench, cases);
  }
  for (auto& [i, among] : doubted) look_alone(bench, p, i, std::move(among));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (emitted[i]) continue;
    Record r = bench.blank(all[i]);
    r.why = why[i].empty() ? Why::left : Why::device;
    r.reason = !why[i].empty() ? why[i]
               : options_.hangs && options_.hangs->over()
                   ? options_.hangs->why()
                   : fmt::format("the group was ended after {} crashes and {} hangs", patience.crashes.load(),
                                 patience.hangs.load());
    keep(bench, all[i], r, {});
    put(p, p.first + i, std::move(r), {});
  }
}

void Runner::look_alone(Bench& bench, const PlannedUnit& p, std::size_t i, Record among) {
  const ConformanceCase& c = p.unit.cases[i];
  const LaunchesWhile wanted([this] { return !(options_.hangs && options_.hangs->over()); });
  std::optional<Record> by_itself;
  bench.enter(*p.group, patience_.at(p.group), [&](std::size_t, Record r) { by_itself = std::move(r); });
  p.unit.run(bench, {c});
  // What is wrong only among others is wrong all the same: launches on one stream disturb each other. A
  // second look that shows nothing changes nothing.
  const bool agrees = !wanted.left() && !disturbance_of(bench.variant()).any() && by_itself &&
                      (by_itself->status == Status::fail || by_itself->status == Status::crashed);
  agreed_ += agrees;
  Record r = agrees ? std::move(*by_itself) : std::move(among);
  keep(bench, c, r, {});
  put(p, p.first + i, std::move(r), {});
}

std::optional<Record> Runner::earlier(const Bench& bench, Patience& patience, const ConformanceCase& c) {
  if (options_.known && beyond_limits(bench.variant_of(c), bench.problem(c)).empty()) {
    const Record blank = bench.blank(c);
    if (const Record* const same = options_.known(identity(blank))) {
      deaths_.saw(c.V, kAligned, false, {});
      std::optional<Record> r = *same;
      r->reproduce = blank.reproduce;
      return r;
    }
  }
  if (!options_.kept.take) return {};
  const auto kept = options_.kept.take(kept_name(options_, bench.blank(c)));
  if (!kept || (options_.again && options_.again(c))) return {};
  Record r = record_from_json(*kept);
  // The group is left when it would have been left without the interruption.
  patience.crashes += r.status == Status::crashed;
  patience.hangs += r.status == Status::hung;
  return r;
}

void Runner::keep(const Bench& bench, const ConformanceCase& c, const Record& r, const Disturbance& d) const {
  if (options_.kept.add && !d.any()) options_.kept.add(kept_name(options_, bench.blank(c)), to_json(r));
}

std::vector<std::size_t> Runner::newly_run() {
  std::vector<std::size_t> cases = std::exchange(newly_run_, {});
  std::sort(cases.begin(), cases.end());
  return cases;
}

void Runner::keep_settled(const Variant& variant, const std::vector<std::size_t>& cases) const {
  if (!options_.kept.add) return;
  Bench bench(variant, options_);
  for (const std::size_t i : cases) {
    if (!disturbed[i].any()) continue;
    const PlannedUnit& p = unit_of(i);
    Patience none;
    bench.enter(*p.group, none, {});
    keep(bench, p.unit.cases[i - p.first], records[i], {});
  }
}

void Runner::put(const PlannedUnit& p, std::size_t at, Record r, Disturbance disturbance) {
  if (r.status == Status::fail || r.status == Status::crashed) {
    if (stage_of(p) == Stage::first) failed_ = true;
    if (!disturbance.any() && (!options_.enough || options_.enough(r))) wrong_ = true;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  has_run[at] = true;
  newly_run_.push_back(at);
  disturbed[at] = std::move(disturbance);
  finish_texts(r);
  records[at] = std::move(r);
  ++done_;
  if (options_.progress) options_.progress(done_, static_cast<std::int64_t>(records.size()));
}

void Runner::leave_rest(const Variant& variant) {
  Bench bench(variant, options_);
  Patience none;
  for (const PlannedUnit& p : plan_.units) {
    bench.enter(*p.group, none, {});
    for (std::size_t i = 0; i < p.unit.cases.size(); ++i) {
      if (has_run[p.first + i]) continue;
      Record r = bench.blank(p.unit.cases[i]);
      r.why = Why::left;
      r.reason = "left, because a case before it is wrong (--fail-fast)";
      put(p, p.first + i, std::move(r), {});
    }
  }
}

std::int64_t executed(const std::vector<Record>& records) {
  return std::count_if(records.begin(), records.end(),
                       [](const Record& r) { return r.status != Status::not_run; });
}

}  // namespace assay::conformance
