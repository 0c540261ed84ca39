// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trial.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accuracy/case/job.hpp"

namespace assay::fuzz {

Trial trial_of(const Genome& g, const Variant& variant, Op op) {
  const Genome in = in_range(g);
  // A genome numbers the thresholds from 1 on.
  const std::vector<Pick> those = keeps_a_set(op) ? thresholds(op, true) : std::vector<Pick>{Pick()};
  const Pick& threshold = those[static_cast<std::size_t>(std::max(in.k, 1) - 1) % those.size()];
  return {.logits = tensor_of(in, variant.dtype),
          .pick = selects(op) ? Pick(in.k) : threshold,
          .pitch_gap = in.pitch_gap,
          .first = in.first,
          .max_blocks = in.max_blocks,
          .schedule = in.schedule,
          .seed = in.seed};
}

Record check(const Variant& variant, Op op, const Trial& trial, bool nearest) {
  const Case c("fuzz", trial.logits);
  CheckOptions options;
  options.pitch = trial.logits.V + trial.pitch_gap;
  options.offset = trial.first;
  options.launch.schedule = trial.schedule;
  options.launch.max_blocks = trial.max_blocks;
  options.nearest = nearest;
  options.seed = trial.seed;
  Record r = check_case(variant, c, op, trial.pick, options);
  r.seed = trial.seed;
  return r;
}

const char* name(RowKind kind) {
  static constexpr const char* names[] = {"empty", "finite", "masked", "all_neg_inf", "pos_inf", "nan"};
  return names[static_cast<int>(kind)];
}

RowKind kind_of_row(const Tensor& logits, std::int64_t row) {
  if (logits.V == 0) return RowKind::empty;
  std::int64_t negative = 0;
  bool positive = false;
  for (std::int64_t j = 0; j < logits.V; ++j) {
    const double x = logits.at(row, j);
    if (std::isnan(x)) return RowKind::nan;
    if (std::isinf(x)) x < 0 ? static_cast<void>(++negative) : static_cast<void>(positive = true);
  }
  if (positive) return RowKind::pos_inf;
  return negative == 0 ? RowKind::finite : negative == logits.V ? RowKind::all_neg_inf : RowKind::masked;
}

const char* kind_of(const Tensor& logits) {
  RowKind most = logits.V == 0 ? RowKind::empty : RowKind::finite;
  for (std::int64_t r = 0; r < logits.rows; ++r) most = std::max(most, kind_of_row(logits, r));
  return name(most);
}

Signature signature_of(const Record& record, const Tensor& logits) {
  Signature s;
  s.rows = kind_of(logits);
  if (record.status == Status::crashed || record.status == Status::hung) s.check = name(record.status);
  if (record.status == Status::fail)
    for (const CheckResult& c : record.checks)
      if (c.failed > 0) {
        s.check = name(c.check);
        break;
      }
  return s;
}

bool fails_like(const Record& record, const Tensor& logits, const Signature& signature) {
  if (kind_of(logits) != signature.rows) return false;
  if (signature.check == name(Status::crashed) || signature.check == name(Status::hung))
    return name(record.status) == signature.check;
  return record.status == Status::fail &&
         std::any_of(record.checks.begin(), record.checks.end(),
                     [&](const CheckResult& c) { return c.failed > 0 && name(c.check) == signature.check; });
}

}  // namespace assay::fuzz
