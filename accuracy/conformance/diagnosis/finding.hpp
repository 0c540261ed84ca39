// SPDX-License-Identifier: Apache-2.0
// Makes a finding from failing cases and the rule that separates them. Internal to this folder.
#pragma once

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

/// `bad` are the cases of the finding, at least one; `good` are those that pass.
Finding finding_of(Cases bad, const Cases& good, const Rule& rule);

/// Adds the cases of `other` to `into`.
void merge(Finding& into, const Finding& other);

}  // namespace assay::conformance
