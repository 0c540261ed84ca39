// Runs planned units over threads and accounts for every case: `assay check` with one kernel, `assay report`
// with those of the registry.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// A unit, and where the record of its first case stands.
struct PlannedUnit {
  const Group* group;
  Unit unit;
  std::size_t first;
};

/// Units in the order of their records. Groups outlive it.
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
  /// `options` outlive it.
  Runner(UnitPlan plan, const ConformanceOptions& options);

  /// Every unit, largest first. The calling thread has `first`; each further one a variant of its own, made
  /// while the others are at work: where `make` throws EnvironmentError there are fewer threads; whatever
  /// else it throws ends the run, after the units that are under way. Cases whose kernel can not be launched
  /// here, and those of a group that was left, are recorded as not run, with the reason.
  void run(const Variant& first, const std::function<Variant()>& make, int threads);

  /// The record of one case as the only one of a fresh process, for a variant with a launcher. `disturbance`:
  /// set to what befell the launch that the kernel need have no part in.
  Record alone(const Variant& variant, std::size_t record, Disturbance* disturbance = nullptr) const;

  /// In plan order.
  std::vector<Record> records;
  /// By record: what befell its launches that the kernel need have no part in.
  std::vector<Disturbance> disturbed;

 private:
  const PlannedUnit& unit_of(std::size_t record) const;
  void run_unit(Bench& bench, const PlannedUnit& p);
  void put(std::size_t at, Record r, Disturbance disturbance);

  const UnitPlan plan_;
  const ConformanceOptions& options_;
  std::map<const Group*, Patience> patience_;
  Deaths deaths_;
  std::mutex mutex_, exclusive_;
  std::int64_t done_ = 0;
};

/// Records that were run.
std::int64_t executed(const std::vector<Record>& records);

}  // namespace assay::conformance
