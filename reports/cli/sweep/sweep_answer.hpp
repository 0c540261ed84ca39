// SPDX-License-Identifier: Apache-2.0
// What assay sweep says to programs (--json, --junit).
#pragma once

#include <string>
#include <vector>

#include "reports/sweep/data/compare.hpp"
#include "reports/sweep/engine.hpp"
#include "reports/terminal/verdict_document.hpp"

namespace assay {

/// One test case for each configuration in `records`, which are those of this run. Ceilings are none.
VerdictDocument answer_of_sweep(const SweepResult& result, const std::vector<SweepRecord>& records);

/// Adds what became slower or was lost, each as a test case, and the verdict of the comparison.
void add_comparison(VerdictDocument& d, const SweepComparison& c);
/// Of a call that only compares two files.
VerdictDocument answer_of_comparison(const SweepComparison& c);

/// Of a sweep that could time nothing here.
VerdictDocument answer_of_no_sweep(const std::string& why, std::int64_t planned);

}  // namespace assay
