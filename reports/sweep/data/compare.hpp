// SPDX-License-Identifier: Apache-2.0
// Compares two sweeps: what became slower or faster. A statistical test on all samples decides, because two
// medians alone may differ by chance.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

struct SweepChange {
  std::string what;  // the configuration's identity
  double before_us = 0, after_us = 0;
  double p = 1;         // two-sided, with Holm's correction for the number of tests
  std::string reason;   // if it is lost: the new sweep's status and reason
  bool failed = false;  // it is lost because it failed
  double factor() const { return after_us / before_us; }
};

struct SweepComparison {
  std::vector<SweepChange> slower, faster;  // the largest change first
  /// The medians are at least 2 % apart, but there are too few samples to exclude chance.
  std::vector<SweepChange> undecided;
  std::vector<SweepChange> lost;  // timed before, but not now
  std::int64_t same = 0, fresh = 0;
  std::vector<std::string> notes;  // for example: another machine, other ceilings
  std::int64_t compared() const {
    return same + static_cast<std::int64_t>(slower.size() + faster.size() + undecided.size());
  }
};

/// A configuration is slower or faster if the Mann-Whitney test on its samples says so at 5 % (with Holm's
/// correction), and the medians are at least 2 % apart. Ceilings describe the machine and are not
/// compared one by one. If the copies of the two sweeps differ by 2 % or more, a note says so.
SweepComparison compare_sweeps(const std::vector<SweepRecord>& before, const std::vector<SweepRecord>& after);

/// False if something became slower, if a configuration that was timed before fails, or if nothing was
/// compared.
bool comparison_passed(const SweepComparison& c);

/// The verdict and the counts, then the lists with at most 20 lines each.
std::string comparison_text(const SweepComparison& c);

}  // namespace assay
