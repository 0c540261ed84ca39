// Two sweeps side by side: what became slower or faster, by a test on their samples and not by a look at
// medians.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

struct SweepChange {
  std::string what;  // the configuration's identity
  double before_us = 0, after_us = 0;
  double p = 1;        // two-sided, after Holm's correction over all that were tested
  std::string reason;  // of a lost one: what the new sweep says of it
  double factor() const { return after_us / before_us; }
};

struct SweepComparison {
  std::vector<SweepChange> slower, faster;  // the largest change first
  /// Medians at least 2 % apart, but too few samples to tell it from noise.
  std::vector<SweepChange> undecided;
  std::vector<SweepChange> lost;  // timed before, not now
  std::int64_t same = 0, fresh = 0;
  std::vector<std::string> notes;  // other machine, other ceilings
  std::int64_t compared() const {
    return same + static_cast<std::int64_t>(slower.size() + faster.size() + undecided.size());
  }
};

/// Slower or faster: Mann-Whitney on the samples with Holm's correction at 5 %, and medians at least 2 %
/// apart. Ceilings are the machine's and no configurations: where their copies differ by 2 % or more, a note
/// says so.
SweepComparison compare_sweeps(const std::vector<SweepRecord>& before, const std::vector<SweepRecord>& after);

/// False where something became slower, a configuration fails that was timed before, or nothing was compared.
bool comparison_passed(const SweepComparison& c);

/// The verdict, the counts, then every list, at most 20 lines each.
std::string comparison_text(const SweepComparison& c);

}  // namespace assay
