// SPDX-License-Identifier: Apache-2.0
// The result of a sweep in words, for the terminal; the verdict comes first.
#pragma once

#include <string>

#include "reports/sweep/engine.hpp"

namespace assay {

/// False if anything failed, or if nothing of the plan was timed.
bool sweep_passed(const SweepResult& r);

/// "3 of 4 planned configurations timed and verified, 1 failed": the line after PASS or FAIL.
std::string sweep_sentence(const SweepResult& r);

/// The verdict, the counts, and the three worst: first failures, then the configurations farthest from their
/// ceiling. Each has the command that repeats it. `part`: "part 0 of 3", if this is one part of a
/// run, which need not time anything.
std::string sweep_outcome(const SweepResult& r, const std::string& part = "");

}  // namespace assay
