// SPDX-License-Identifier: Apache-2.0
// The steps from one row to its verdict: truth, shift, bounds, domain, then the checks. Every judge of a row
// uses these functions, so that all verdicts are made in the same way.
#pragma once

#include <optional>
#include <string>

#include "accuracy/judge/row_judge.hpp"

namespace assay {

/// What a claim says about a row before any output is seen.
struct PreparedRow {
  std::optional<RowBounds> bounds;  // empty if a policy decides instead: special rows, op topk
  RoundedShift own_shift;           // empty if a cached one is used
  const RoundedShift* cached = nullptr;
  /// Set if the softmax is of another row or another sum: with epsilon, or of the elements that were
  /// selected.
  std::optional<RowTruth> own_truth;
  std::optional<Terms> own_terms;  // those of the selected elements' shorter sum
  double threshold = 0;            // of min_p and top_p
  std::string outside;             // why the claim says nothing about the row; else empty

  const Terms& terms(const Terms& plain) const { return own_terms ? *own_terms : plain; }
  const RowTruth& truth(const RowTruth& plain) const { return own_truth ? *own_truth : plain; }
  const RoundedShift& shift() const { return cached ? *cached : own_shift; }
};

/// `k`: of an op that has one. `f32_shift`: the shift in fp32 arithmetic with a subtracted maximum, if it is
/// already known; may be null.
PreparedRow prepare_row(const Claim& claim, const Terms& terms, const RowTruth& truth, Op op,
                        const Pick& pick, const RoundedShift* f32_shift = nullptr);

/// Runs every check of the op on one row inside the domain. `rounded`: the format that the truth is rounded
/// to; `out`: the format of the outputs.
void judge_row(const Claim& claim, const Terms& terms, Dtype rounded, Dtype out, const RowCase& row,
               const PreparedRow& prepared, Op op, const RowOutput& got, Tally& tally,
               ErrorStatistics& statistics, ElementObserver* observer = nullptr);

}  // namespace assay
