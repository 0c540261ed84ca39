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
  /// Every other thread gets its own variant, which is made while the others are at work. If `make` throws
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
  void run_unit(Bench& bench, const PlannedUnit& p);
  void put(const PlannedUnit& p, std::size_t at, Record r, Disturbance disturbance);
  /// The record that an earlier run kept of the case.
  std::optional<Record> earlier(const Bench& bench, Patience& patience, const ConformanceCase& c) const;
  /// Keeps a settled record.
  void keep(const Bench& bench, const ConformanceCase& c, const Record& r, const Disturbance& d) const;

  const UnitPlan plan_;
  const ConformanceOptions& options_;
  std::map<const Group*, Patience> patience_;
  Deaths deaths_;
  std::vector<bool> begun_;  // units
  std::mutex mutex_;
  std::vector<std::size_t> newly_run_;
  std::int64_t done_ = 0;
  std::atomic<bool> failed_{false}, holds_{false}, wrong_{false}, stopped_{false};
};

/// The number of records that were run.
std::int64_t executed(const std::vector<Record>& records);

}  // namespace assay::conformance
