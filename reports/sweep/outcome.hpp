// A sweep in words, for the terminal: the verdict first.
#pragma once

#include <string>

#include "reports/sweep/engine.hpp"

namespace assay {

/// False where anything failed, or nothing of the plan was timed.
bool sweep_passed(const SweepResult& r);

/// The verdict, the counts, the three worst: what failed, then what is furthest from its ceiling, each with
/// the command that repeats it.
std::string sweep_outcome(const SweepResult& r);

}  // namespace assay
