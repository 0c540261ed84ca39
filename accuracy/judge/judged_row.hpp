// One row on its way to a verdict: truth, shift, bounds, domain, then the checks. Whoever judges a row does it
// here, so that no two verdicts are put together in different ways.
#pragma once

#include <optional>
#include <string>

#include "accuracy/judge/row_judge.hpp"

namespace assay {

/// What is known of a row under a claim before any output is seen.
struct PreparedRow {
  std::optional<RowBounds> bounds;  // empty where a policy decides, not a bound: special rows, op topk
  RoundedShift own_shift;           // empty where a cached one serves
  const RoundedShift* cached = nullptr;
  std::optional<RowTruth> own_truth;  // where epsilon is in the sum
  std::string outside;  // why the claim says nothing of the row; empty where it does

  const RowTruth& truth(const RowTruth& plain) const { return own_truth ? *own_truth : plain; }
  const RoundedShift& shift() const { return cached ? *cached : own_shift; }
};

/// `f32_shift`: that of fp32 arithmetic with a subtracted maximum, where it is known already; may be null.
PreparedRow prepare_row(const Claim& claim, const Terms& terms, const RowTruth& truth, Op op,
                        const RoundedShift* f32_shift = nullptr);

/// Every check of the op on one row inside the domain. `rounded`: the format of the truth's roundings, `out`:
/// of the outputs.
void judge_row(const Claim& claim, const Terms& terms, Dtype rounded, Dtype out, const RowCase& row,
               const PreparedRow& prepared, Op op, const RowOutput& got, Tally& tally,
               ErrorStatistics& statistics, ElementObserver* observer = nullptr);

}  // namespace assay
