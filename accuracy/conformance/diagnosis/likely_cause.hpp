// What usually stands behind a pattern of failing cases: the sentence that a rule, the checks that failed and
// the kind of fault suggest. Internal to this folder.
#pragma once

#include <string>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

inline constexpr const char* kOtherArithmetic = "arithmetic less exact than its claim";

/// One clause, or nothing: a pattern that names no cause gets none.
std::string likely_cause(const Finding& f, const Rule& rule);

}  // namespace assay::conformance
