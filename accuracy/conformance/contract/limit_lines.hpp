// Limits of the sizes of a launch, one axis at a time: the number of rows, the row length or k varies, and
// the other two are held where the kernel is known to run. Internal to this folder.
#pragma once

#include <functional>
#include <vector>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/contract/limit_trials.hpp"

namespace assay::conformance {

/// Whether a word may be looked for.
using May = std::function<bool(const char* word)>;

/// Numbers of rows, at one row length.
std::vector<FoundLimit> rows_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// Row lengths, at one number of rows.
std::vector<FoundLimit> length_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// The largest k, at one size: of those from 1 on that are taken without a gap.
std::vector<FoundLimit> k_limits(Trials& trials, const Variant& variant, const std::vector<Record>& records,
                                 const May& may);

}  // namespace assay::conformance
