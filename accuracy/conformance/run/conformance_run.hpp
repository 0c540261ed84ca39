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
  /// Runs the groups up to this stage. Cases that something outside the kernel disturbed are run again.
  /// Throws like run_conformance.
  ConformanceRun(const std::function<Variant()>& make, ConformanceOptions options,
                 Stage up_to = Stage::later);
  ~ConformanceRun();

  /// Of all cases so far, in plan order, with those of status not_run.
  std::vector<Record> records() const;

  /// True if Stage::later waits.
  bool holds() const;
  /// Runs what is left up to this stage.
  void go_on(Stage up_to);

  /// Runs what is left, and returns the records. The first case of each finding has been run again alone, and
  /// judged under other claims. Afterwards this run holds no records.
  ConformanceResult explained();

 private:
  /// True if a case that has run is wrong, and reason enough. Empty: every one is.
  bool is_wrong(const std::function<bool(const Record&)>& enough) const;

  const std::function<Variant()> make_;
  const ConformanceOptions options_;
  const Variant first_;
  std::vector<Group> groups_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace assay::conformance
