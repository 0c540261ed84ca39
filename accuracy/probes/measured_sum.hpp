// SPDX-License-Identifier: Apache-2.0
// Measures the sum of a kernel that declares no height. The rows hold one 0 and V - 1 logits so small that
// only thousands of them together have an effect (V is the row length). They show, for the 0, how many terms
// each addition on its way to the sum adds. The technique is that of FPRev (P. Xie et al., arXiv 2411.00442),
// which finds the summation tree of a black box from what rounding swallows, here applied to a sum of exps.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/registry.hpp"

namespace assay {

struct MeasuredSum {
  std::int64_t height = 0;  // upper bound of the additions on the longest path seen; 0: not measured
  std::string saw;          // what was seen, or why nothing was
  /// A launch that went wrong during the measurement, and its rows; its fault is one sentence. It counts
  /// against the kernel, but for a refused launch of other rows than the case has.
  LaunchOutcome went_wrong = {};
  std::int64_t rows = 0;
  /// Not empty if a row of a few large terms has a sum that no order of additions explains.
  std::string refuted = {};

  bool was_refused() const { return says_no(went_wrong.kind); }
};

/// Launches the variant on rows of V logits, with at least `rows` rows in each launch, because a launcher may
/// use another kernel for many rows than for few. The result is kept: each V and number of rows is measured
/// once. `few`: only two places of the 0 are tried, of eight or more. This takes a fifth of the launches, and
/// may miss the longest path.
MeasuredSum measured_sum(const Variant& variant, std::int64_t V, std::int64_t rows = 0, bool few = false);

/// An upper bound of the additions on the path of one leaf, from the leaves that are lost at each scale.
/// `lost[k]` counts the leaves that vanished when 2^k of them together were just below half an ulp of 1. A
/// sibling of s leaves vanishes completely if s <= 2^k. There are at most (newly lost) / (2^(k-1) + 1)
/// siblings with 2^(k-1) < s <= 2^k.
double additions_on_path(const double* lost, int scales);

}  // namespace assay
