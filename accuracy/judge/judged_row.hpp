// SPDX-License-Identifier: Apache-2.0
// The steps from one row to its verdict: truth, shift, bounds, domain, then the checks. Every judge of a row
// uses these functions, so that all verdicts are made in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "accuracy/judge/row_judge.hpp"
#include "kernels/claim.hpp"
#include "reference/oracle/oracle.hpp"

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
               ErrorStatistics& statistics, ErrorProfile* profile = nullptr);

// The k elements that a top-k must select, and the row that they make: op topk_softmax is the softmax of that
// row. Elements that tie for the last slot are equal, so the row is the same whichever of them is taken.

/// True if top-k ranks two logits alike: they are equal, or both NaN.
bool same_rank(double a, double b);
/// True if the claim lets top-k pass over such a logit.
bool ignored(const Claim& claim, double logit);
/// The number of elements that can be selected; later slots are empty.
std::int64_t selectable(const Claim& claim, const RowTruth& row);
/// The position that slot r must hold: the exact order under the claim's NaN order and tie rule.
std::int32_t ranked(const Claim& claim, const RowTruth& row, std::int64_t r);

/// Truth of the row of the k selected logits, slot by slot. Its roundings are left to the enclosures
/// (`rounded` is empty).
RowTruth selected_truth(const Claim& claim, const RowTruth& row, int k);
/// The same of given positions, each inside the row.
RowTruth truth_of_selected(const RowTruth& row, std::span<const std::int64_t> positions);

// The exact results in the log domain, computed from a row's enclosures: ln s and the log-probabilities d_j -
// ln s.

/// An enclosure of ln s of a finite or masked row. It is narrow even where s is close to 1: there s is 1 plus
/// the other terms, and their probabilities are known to double's relative precision. `more`: what is added
/// to the terms in the row's s, that is epsilon.
Enclosure log_sum_truth(const RowTruth& row, double more = 0);

/// An enclosure of ln p_j = d_j - ln s; {-inf, -inf} for a logit of -inf.
Enclosure log_prob_truth(const RowTruth& row, const Enclosure& log_sum, std::int64_t j);

}  // namespace assay
