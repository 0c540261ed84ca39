// SPDX-License-Identifier: Apache-2.0
// Limits on the sizes of a launch, for one axis at a time: the number of rows, the row length V, or k. One of
// them varies, and the other two stay at values where the kernel is known to run. Internal to this folder.
#pragma once

#include <functional>
#include <vector>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/contract/limit_trials.hpp"

namespace assay::conformance {

/// Says whether a limit (a word of a declaration) may be looked for.
using May = std::function<bool(const char* word)>;

/// Limits on the number of rows, at one row length.
std::vector<FoundLimit> rows_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// Limits on the row length, at one number of rows.
std::vector<FoundLimit> length_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// The largest k, at one size: every k from 1 up to it is accepted.
std::vector<FoundLimit> k_limits(Trials& trials, const Variant& variant, const std::vector<Record>& records,
                                 const May& may);

}  // namespace assay::conformance
