// SPDX-License-Identifier: Apache-2.0
// Properties of min_p and top_p: the kept set is right, and its softmax within the bounds.
#include <rapidcheck.h>

#include <algorithm>

#include "accuracy/judge/judged_row.hpp"
#include "properties/variants/variant_properties.hpp"

namespace assay {
namespace {

bool keeps(const Variant& v) { return keeps_a_set(v.op); }

/// One row of eight again and again, so that the set is larger than what kernels hold of it.
Row repeated_at_times(Row row) {
  std::vector<Float>& x = row.logits;
  const std::size_t period = x.size();
  if (*rc::gen::inRange(0, 8) != 0) return row;
  while (x.size() < 800) x.push_back(Float(x[x.size() - period]));
  return row;
}

/// The outputs of the launch's only row pass all checks.
void kept_set(const Variant& v, const Row& row) {
  const Pick pick = draw_pick(v, row);
  classify(row);
  const Tensor logits = tensor_of({row});
  const RowTruth truth = row_truth(v.dtype, logits.row(0), logits.V, v.dtype);
  const Terms terms = terms_of(v.claim, v.backend, v.out(), logits.V);
  const PreparedRow prepared = prepare_row(v.claim, terms, truth, v.op, pick);
  const Answer answer = run(v, v.op, logits, {.pick = pick});
  if (!prepared.outside.empty() || !outside_values(v, truth.x).empty()) return;
  std::vector<double> values;
  for (std::int64_t j = 0; j < answer.problem.V; ++j) values.push_back(answer.value(0, j));
  RowOutput got;
  got.values = values;
  got.bits = answer.bits;
  Tally tally;
  ErrorStatistics statistics;
  judge_row(v.claim, terms, v.dtype, v.out(), {&truth, 0}, prepared, v.op, got, tally, statistics);
  for (const CheckResult& c : tally.results())
    if (c.failed > 0) RC_FAIL(std::string(name(c.check)) + ": " + c.detail);
  const auto kept = values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0));
  RC_CLASSIFY(kept == 1, "one is kept");
  RC_CLASSIFY(kept > 1 && kept < values.size(), "some are kept");
  RC_CLASSIFY(kept > 300, "more are kept than there are candidates");
  RC_CLASSIFY(kept == values.size(), "all are kept");
}

void far_rows(const Variant& v) {
  kept_set(v, *variant_rows({Structure::overflow, Structure::huge, Structure::uniform}, v.dtype));
}
void mixed_rows(const Variant& v) { kept_set(v, *variant_rows({Structure::mixed}, v.dtype)); }
void usual_rows(const Variant& v) {
  const Row row = *variant_rows(
      {Structure::moderate, Structure::equal_runs, Structure::ascending, Structure::ramp, Structure::masked},
      v.dtype);
  kept_set(v, repeated_at_times(row));
}

}  // namespace

std::vector<VariantProperty> set_properties() {
  return {
      {"sets_of_far_rows_are_right", keeps, far_rows, 40, {"overflow", "huge", "uniform", "one is kept"}},
      {"sets_of_mixed_magnitudes_are_right",
       keeps,
       mixed_rows,
       40,
       {"mixed", "one is kept", "some are kept"}},
      {"sets_of_ordinary_rows_are_right",
       keeps,
       usual_rows,
       60,
       {"one is kept", "some are kept", "more are kept than there are candidates", "all are kept", "masked",
        "equal_runs", "ramp"}},
  };
}

}  // namespace assay
