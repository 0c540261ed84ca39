// One run of the groups on a kernel, whose failing cases may be left unexplained. An explanation starts fresh
// processes, a second each on a GPU; the search for a contract makes many runs and prints one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

class Runner;

class ConformanceRun {
 public:
  /// Runs the groups. Cases that something outside the kernel disturbed have been run again. Throws as
  /// run_conformance does.
  ConformanceRun(const std::function<Variant()>& make, ConformanceOptions options);
  ~ConformanceRun();

  /// In plan order, those of status not_run included.
  const std::vector<Record>& records() const;

  /// The records, the first case of each finding run again alone and judged under other claims. The run has
  /// no records afterwards.
  ConformanceResult explained();

 private:
  const ConformanceOptions options_;
  const Variant first_;
  std::vector<Group> groups_;
  std::unique_ptr<Runner> runner_;
  std::int64_t executed_ = 0;
};

}  // namespace assay::conformance
