// SPDX-License-Identifier: Apache-2.0
// Makes a finding from failing cases and the rule that separates them. Internal to this folder.
#pragma once

#include <string>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

/// `bad` are the cases of the finding, at least one; `good` are those that pass. `lost_terms` is the cause of
/// these cases, if it is one of a number of terms (lost_terms.hpp).
Finding finding_of(Cases bad, const Cases& good, const Rule& rule, std::string lost_terms = {});

/// Makes this one of its cases the finding's first.
void begin_with(Finding& f, const Record& first);

/// Adds the cases of `other` to `into`.
void merge(Finding& into, const Finding& other);

}  // namespace assay::conformance
