// From failing cases and the rule that tells them to a finding. Internal to this folder.
#pragma once

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

/// `bad` are the cases of the finding, and not empty; `good` those that pass.
Finding finding_of(Cases bad, const Cases& good, const Rule& rule);

/// Adds the cases of the other.
void merge(Finding& into, const Finding& other);

}  // namespace assay::conformance
