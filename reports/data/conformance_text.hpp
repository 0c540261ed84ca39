// SPDX-License-Identifier: Apache-2.0
// The verdict of assay check in words: what failed, what the failing cases have in common, and the command
// that repeats each.
#pragma once

#include <string>
#include <vector>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "reports/data/key_conformance.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// True if the case passed in a fresh process only, after something that may have come from outside.
bool passed_only_again(const Record& r);

/// Of a finding whose first case passes alone (conformance::Finding::passes_alone).
inline constexpr const char* kSeenInCalls =
    "Alone this case passes. The failure shows in a sequence of calls: --only calls in place of the case.";

/// True if the class of arithmetic that the first case would pass as may be the cause of the failure.
bool offers_class(const conformance::Finding& f);

/// "shapes: 1024 of 8194 cases fail (element, row_sum): every V with V % 4 = 3 (first: V = 3): likely the
/// tail of a vectorised loop".
std::string finding_line(const conformance::Finding& f);

/// The whole verdict; it starts with "PASS key" or "FAIL key". The records of each key are consecutive.
std::string render_check_terminal(const ReportData& data, const std::string& page_path);

}  // namespace assay
