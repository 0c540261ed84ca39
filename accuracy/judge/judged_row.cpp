// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/judged_row.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "accuracy/bounds/divisor.hpp"
#include "accuracy/judge/selected_row.hpp"

namespace assay {

namespace {

void prepare_sum(PreparedRow& row, const Terms& terms, const RowTruth& truth, const RoundedShift* f32_shift) {
  if (truth.kind != RowKind::finite && truth.kind != RowKind::masked) return;
  const bool plain = terms.arithmetic == Dtype::f32 && terms.shifted && !terms.exp2 && !terms.any_shift &&
                     truth.slack.empty();
  if (plain && f32_shift)
    row.cached = f32_shift;
  else
    row.own_shift = shift_of(truth, terms);
  if (terms.epsilon > 0) row.own_truth = with_epsilon(truth, terms, row.shift());
  row.bounds = row_bounds(terms, row.truth(truth), row.shift());
}

/// The terms of the same claim for a sum of n elements, a part of the row. A limit that a judgement has set
/// on the sum of the whole row stays.
Terms terms_of_part(const Claim& claim, Terms terms, std::int64_t V, std::int64_t n) {
  if (!claim.height) return terms;
  const double more = terms.epsilon > 0, own = static_cast<double>(claim.height(n)) + more;
  const bool limited = terms.h < static_cast<double>(claim.height(V)) + more;
  terms.h = limited ? std::min(terms.h, own) : own;
  return terms;
}

/// Makes `part`, the selected elements of `whole`, the row that is judged.
void prepare_selected(PreparedRow& row, const Claim& claim, const Terms& terms, const RowTruth& whole,
                      RowTruth part) {
  row.own_truth = std::move(part);
  row.own_terms = terms_of_part(claim, terms, static_cast<std::int64_t>(whole.x.size()),
                                static_cast<std::int64_t>(row.own_truth->x.size()));
  prepare_sum(row, *row.own_terms, *row.own_truth, nullptr);
  row.outside = outside_domain(claim, *row.own_truth, row.bounds ? row.bounds->b : 0);
}

/// Logits that the kernel computes itself may change places, so its own selection is the row. Empty if an
/// index is not inside the row.
std::optional<PreparedRow> prepare_own_selection(const Claim& claim, const Terms& terms,
                                                 const RowTruth& whole, const RowOutput& got) {
  const auto V = static_cast<std::int64_t>(whole.x.size());
  const auto own =
      got.indices.first(std::min(got.indices.size(), static_cast<std::size_t>(selectable(claim, whole))));
  if (!std::all_of(own.begin(), own.end(), [V](std::int64_t i) { return i >= 0 && i < V; })) return {};
  PreparedRow row;
  prepare_selected(row, claim, terms, whole, truth_of_selected(whole, own));
  return row;
}

}  // namespace

PreparedRow prepare_row(const Claim& claim, const Terms& terms, const RowTruth& truth, Op op,
                        const Pick& pick, const RoundedShift* f32_shift) {
  PreparedRow row;
  if (op == Op::topk) return row;
  if (keeps_a_set(op)) row.threshold = static_cast<double>(static_cast<float>(pick.threshold));
  if (op != Op::topk_softmax) {
    prepare_sum(row, terms, truth, f32_shift);
    row.outside = outside_domain(claim, row.truth(truth), row.bounds ? row.bounds->b : 0);
    return row;
  }
  if (truth.kind == RowKind::nan && claim.policy.nan_order == NanOrder::any) {
    row.outside = "the row has a NaN, and nan_order=any does not say whether it is selected";
    return row;
  }
  prepare_selected(row, claim, terms, truth, selected_truth(claim, truth, pick.k));
  return row;
}

void judge_row(const Claim& claim, const Terms& terms, Dtype rounded, Dtype out, const RowCase& row,
               const PreparedRow& by_rank, Op op, const RowOutput& got, Tally& tally,
               ErrorStatistics& statistics, ElementObserver* observer) {
  const std::optional<PreparedRow> own = op == Op::topk_softmax && !row.truth->slack.empty()
                                             ? prepare_own_selection(claim, terms, *row.truth, got)
                                             : std::nullopt;
  const PreparedRow& prepared = own ? *own : by_rank;
  const RowBounds* const bounds = prepared.bounds ? &*prepared.bounds : nullptr;
  const RowCase judged{&prepared.truth(*row.truth), row.row};
  const RowContext c{claim,
                     prepared.terms(terms),
                     rounded,
                     out,
                     judged,
                     bounds,
                     bounds ? &prepared.shift() : nullptr,
                     tally,
                     statistics,
                     observer};
  if (op == Op::topk_softmax) {
    const RowContext whole{claim, terms, rounded, out, row, nullptr, nullptr, tally, statistics, nullptr};
    judge_topk(whole, op, got, &c);
  } else if (selects(op))
    judge_topk(c, op, got);
  else if (op == Op::log_softmax || op == Op::lse)
    judge_logs(c, op, got);
  else if (keeps_a_set(op))
    judge_kept(c, op, prepared.threshold, got);
  else if (op == Op::softmax && bounds)
    judge_probabilities(c, got);
  else if (op == Op::softmax)
    judge_special(c, got);
  if (got.has_normalizer && row.truth->kind != RowKind::empty) judge_normalizer(c, got);
  statistics.resolution.row(resolution_limit(op == Op::normalizer ? Dtype::f32 : out));
}

}  // namespace assay
