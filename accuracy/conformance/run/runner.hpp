// SPDX-License-Identifier: Apache-2.0
// Runs planned units over threads and makes a record for every case: for `assay check` with one kernel, for
// `assay report` with the kernels of the registry.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// A unit, and the index of its first case's record.
struct PlannedUnit {
  const Group* group;
  Unit unit;
  std::size_t first;
};

/// Units in the order of their records. The groups must outlive the plan.
struct UnitPlan {
  std::vector<PlannedUnit> units;
  std::size_t records = 0;

  void add(const Group& group, Unit unit) {
    const std::size_t first = records;
    records += unit.cases.size();
    units.push_back({&group, std::move(unit), first});
  }
};

class Runner {
 public:
  /// `options` must outlive this object.
  Runner(UnitPlan plan, const ConformanceOptions& options);

  /// Runs every unit that has not run, up to this stage, largest first. The calling thread uses `first`.
  /// Every other thread gets its own variant, which is made while the others are at work. Where the launcher
  /// of `first` may be shared (Launcher::shares_launches), most units use `first` on many threads, and few
  /// threads get variants of their own. If `make` throws
  /// EnvironmentError, there are fewer threads; any other exception ends the run, after the units under way.
  /// Cases whose kernel cannot be launched here, and cases of a group that was left, are recorded as not run,
  /// with the reason.
  void run(const Variant& first, const std::function<Variant()>& make, int threads,
           Stage up_to = Stage::last);
  /// True if units of Stage::later wait, because a case failed and the options ask for that.
  bool holds() const { return holds_; }
  /// True if units were left out because a case is wrong, and the options ask for that (fail_fast).
  bool stopped() const { return stopped_; }
  /// Records that every case that has not run was left.
  void leave_rest(const Variant& variant);

  /// Runs one case as the only case of a new process, and returns its record; the variant must have a
  /// launcher. `disturbance`: set to what happened to the launch that may have a cause outside the kernel.
  Record alone(const Variant& variant, std::size_t record, Disturbance* disturbance = nullptr) const;

  /// The cases that have run since the last call.
  std::vector<std::size_t> newly_run();

  /// Keeps the records of those of these cases that were disturbed, and then looked at again.
  void keep_settled(const Variant& variant, const std::vector<std::size_t>& cases) const;

  /// In plan order. Only those count whose case has run.
  std::vector<Record> records;
  std::vector<bool> has_run;
  /// For each record: what happened to its launches that may have a cause outside the kernel.
  std::vector<Disturbance> disturbed;

 private:
  const PlannedUnit& unit_of(std::size_t record) const;
  /// Units that run on the same threads.
  struct Lane {
    bool shared = false;
    std::vector<std::size_t> at = {};
    std::vector<RunUnit> units = {};
  };
  /// Runs small units, each by itself, until one launch has answered: a long row that hangs is waited for
  /// long.
  void run_first(const Variant& first, Stage up_to);
  void run_lane(const Lane& lane, int threads, const Variant& first, const std::function<Variant()>& make);
  void run_unit(Bench& bench, const PlannedUnit& p, bool shared);
  /// Makes a case that failed among others again, by itself, and records what it then shows.
  void look_alone(Bench& bench, const PlannedUnit& p, std::size_t at, Record among);
  void put(const PlannedUnit& p, std::size_t at, Record r, Disturbance disturbance);
  /// The record that an earlier run kept of the case, or that an earlier round of a search made.
  std::optional<Record> earlier(const Bench& bench, Patience& patience, const ConformanceCase& c);
  /// Keeps a settled record.
  void keep(const Bench& bench, const ConformanceCase& c, const Record& r, const Disturbance& d) const;

  const UnitPlan plan_;
  const ConformanceOptions& options_;
  std::map<const Group*, Patience> patience_;
  Deaths deaths_;
  std::vector<char> begun_;  // units
  std::atomic<int> agreed_{0};
  std::mutex mutex_;
  std::vector<std::size_t> newly_run_;
  std::int64_t done_ = 0;
  std::atomic<bool> failed_{false}, holds_{false}, wrong_{false}, stopped_{false};
};

/// The number of records that were run.
std::int64_t executed(const std::vector<Record>& records);

// After a kernel's run: looks again at the cases that one look does not settle (second_look.cpp).

/// Runs every one of these cases again in which something happened that may have a cause outside the kernel,
/// for example a timeout on a busy machine. The case runs in a new process, with no other worker beside it,
/// and may take three times as long. The new record replaces the old one and says what happened at first. As
/// soon as one case ends as it did before, the kernel is shown to be the cause, and the other crashed and
/// hung cases keep their records. A case that hung by its own worker's time, but passes alone in less than
/// half of that time, is inconclusive: it is not just slow. Both times are the worker's own, so a busy
/// machine changes neither. `hangs`: may be null. Once they show that the kernel hangs, one look is enough.
void confirm(Runner& run, const std::vector<std::size_t>& cases, const Variant& variant,
             const Hangs* hangs = nullptr);

/// Runs the first case of every finding again, as the only case of a new process. If it passes there, it
/// needs earlier cases to fail. It is run three times, because a race seldom shows.
void repeat_alone(Runner& run, const Variant& variant);

/// Finds the class as which the first case of every finding would pass: launches it once more in the plain
/// layout, and judges it under other claims.
void say_nearest(Runner& run, const Variant& variant, const ConformanceOptions& options);

}  // namespace assay::conformance
