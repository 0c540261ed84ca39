#include "accuracy/judge/judged_row.hpp"

#include "accuracy/bounds/divisor.hpp"

namespace assay {

PreparedRow prepare_row(const Claim& claim, const Terms& terms, const RowTruth& truth, Op op,
                        const RoundedShift* f32_shift) {
  PreparedRow row;
  if (op == Op::topk) return row;
  if (truth.kind == RowKind::finite || truth.kind == RowKind::masked) {
    const bool plain = terms.arithmetic == Dtype::f32 && terms.shifted && !terms.exp2 && !terms.any_shift &&
                       truth.slack.empty();
    if (plain && f32_shift)
      row.cached = f32_shift;
    else
      row.own_shift = shift_of(truth, terms);
    if (terms.epsilon > 0) row.own_truth = with_epsilon(truth, terms, row.shift());
    row.bounds = row_bounds(terms, row.truth(truth), row.shift());
  }
  row.outside = outside_domain(claim, row.truth(truth), row.bounds ? row.bounds->b : 0);
  return row;
}

void judge_row(const Claim& claim, const Terms& terms, Dtype rounded, Dtype out, const RowCase& row,
               const PreparedRow& prepared, Op op, const RowOutput& got, Tally& tally,
               ErrorStatistics& statistics, ElementObserver* observer) {
  const RowBounds* const bounds = prepared.bounds ? &*prepared.bounds : nullptr;
  const RowCase judged{&prepared.truth(*row.truth), row.row};
  const RowContext c{claim, terms,      rounded, out, judged, bounds, bounds ? &prepared.shift() : nullptr,
                     tally, statistics, observer};
  if (selects(op))
    judge_topk(c, op, got);
  else if (op == Op::log_softmax || op == Op::lse)
    judge_logs(c, op, got);
  else if (op == Op::softmax && bounds)
    judge_probabilities(c, got);
  else if (op == Op::softmax)
    judge_special(c, got);
  if (got.has_normalizer && row.truth->kind != RowKind::empty) judge_normalizer(c, got);
  statistics.resolution.row(resolution_limit(op == Op::normalizer ? Dtype::f32 : out));
}

}  // namespace assay
