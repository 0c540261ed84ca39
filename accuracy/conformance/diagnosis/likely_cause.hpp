// SPDX-License-Identifier: Apache-2.0
// The usual cause of a pattern of failing cases: a sentence chosen by the rule, the checks that failed and
// the kind of fault. Internal to this folder.
#pragma once

#include <string>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

inline constexpr const char* kOtherArithmetic = "arithmetic less exact than its claim";

/// One clause; empty if the pattern suggests no cause.
std::string likely_cause(const Finding& f, const Rule& rule);

}  // namespace assay::conformance
