// SPDX-License-Identifier: Apache-2.0
// Explains a case: the exact row, what each stage of the algorithm should give, what the kernel gave, and the
// bound with its named terms.
#pragma once

#include <string>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

/// `record` is the result of check() on the trial. Launches once more to see the outputs.
std::string explain(const Variant& variant, Op op, const Trial& trial, const Record& record);

}  // namespace assay::fuzz
