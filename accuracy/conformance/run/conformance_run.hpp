// SPDX-License-Identifier: Apache-2.0
// One run of the groups on a kernel. Its failing cases may be left unexplained: an explanation starts new
// processes, which cost a second each on a GPU. The search for a contract makes many runs, but prints only
// one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

class Runner;

class ConformanceRun {
 public:
  /// Runs the groups. Cases that something outside the kernel disturbed are run again. Throws like
  /// run_conformance.
  ConformanceRun(const std::function<Variant()>& make, ConformanceOptions options);
  ~ConformanceRun();

  /// In plan order, with those of status not_run.
  const std::vector<Record>& records() const;

  /// Returns the records. The first case of each finding has been run again alone, and judged under other
  /// claims. Afterwards this run holds no records.
  ConformanceResult explained();

 private:
  const ConformanceOptions options_;
  const Variant first_;
  std::vector<Group> groups_;
  std::unique_ptr<Runner> runner_;
  std::int64_t executed_ = 0;
};

}  // namespace assay::conformance
