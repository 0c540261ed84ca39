// The sum of a kernel that declares no height, measured: rows of one 0 and V - 1 logits so small that only
// thousands of them count show, for the 0, how many terms each addition on its way to the sum brings. The
// technique is that of FPRev (P. Xie et al., arXiv 2411.00442), which reveals the summation tree of a black box
// by what rounding swallows, carried over to a sum of exps.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/candidate.hpp"
#include "kernels/registry.hpp"

namespace assay {

struct MeasuredSum {
  std::int64_t height = 0;  // additions on the longest path seen, from above; 0: not measured
  std::string saw;          // what was seen, or why nothing was
  /// A launch that went wrong meanwhile, its fault one sentence: that is the kernel's, whatever it was made for.
  LaunchOutcome went_wrong = {};
  /// Not empty: a row of a few large terms has a sum that no order of additions explains.
  std::string refuted = {};
};

/// Launches the variant on rows of V, at least `rows` of them in each launch: a launcher may take another kernel
/// for many rows than for few. The result is kept: a kernel is asked once for each V and number of rows.
MeasuredSum measured_sum(const Variant& variant, std::int64_t V, std::int64_t rows = 0);

/// Most additions on the path of one leaf, from the leaves lost at each scale: `lost[k]` counts those that
/// vanished where 2^k of them together were just below half an ulp of 1. A sibling of s leaves vanishes whole
/// where s <= 2^k; of those with 2^(k-1) < s <= 2^k there are at most (newly lost) / (2^(k-1) + 1).
double additions_on_path(const double* lost, int scales);

}  // namespace assay
