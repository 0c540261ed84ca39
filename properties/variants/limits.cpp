// SPDX-License-Identifier: Apache-2.0
#include "properties/variants/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/judge/log_truth.hpp"

namespace assay {
namespace {

/// The exponent is computed first: on far rows p is 0 and e^A is infinite.
Interval probability(const RowLimits& l, std::size_t j) {
  if (std::isinf(l.truth.d[j])) return {0, 0};
  const double A = l.bounds.A[j] * (1 + 0x1p-40) + 0x1p-48;  // plus this function's own rounding
  return {std::exp(l.truth.d[j] - A) / l.truth.s.hi - l.bounds.w,
          std::exp(l.truth.d[j] + A) / l.truth.s.lo + l.bounds.w};
}

/// An absolute bound around y, then the rounding to the output format; infinity beyond its range.
Interval logarithm(const RowLimits& l, Dtype out, Enclosure y, double bound) {
  if (std::isinf(y.lo)) return {y.lo, y.hi};
  const double size = std::max(std::fabs(y.lo), std::fabs(y.hi)) + bound;
  const double radius = (bound + l.terms.u_out * size) * (1 + 0x1p-40) +
                        (l.terms.u_out > 0 ? l.terms.w_out : 0) + 4 * l.terms.flush;
  Interval i{y.lo - radius, y.hi + radius};
  const double overflow = max_finite(out) * (1 + 0.5 * unit_roundoff(out));
  if (i.lo <= -overflow) i.lo = -kInf;
  if (i.hi >= overflow) i.hi = kInf;
  return i;
}

}  // namespace

RowLimits limits_of(const Variant& variant, Op op, const Row& row, const Pick& pick) {
  RowLimits l;
  const Tensor logits = tensor_of({row});
  l.truth = row_truth(variant.dtype, logits.row(0), logits.V, variant.dtype, {.tier = Tier::fast});
  l.terms = terms_of(variant.claim, variant.backend, variant.out(), logits.V);
  PreparedRow prepared =
      prepare_row(variant.claim, l.terms, l.truth, op == Op::topk ? Op::softmax : op, pick);
  l.shift = std::move(prepared.own_shift);
  l.bounds = std::move(*prepared.bounds);
  const std::vector<double> logits_of_row = l.truth.x;
  if (prepared.own_terms) l.terms = *prepared.own_terms;
  if (prepared.own_truth) l.truth = std::move(*prepared.own_truth);
  l.outside = std::move(prepared.outside);
  if (l.outside.empty()) l.outside = outside_values(variant, l.truth.x);
  if (!l.outside.empty()) return l;
  if (logarithms(op)) {
    const LogBounds logs = log_bounds(l.terms, l.truth, l.bounds);
    if (op == Op::lse) {
      l.value = {logarithm(l, variant.out(), l.truth.lse, logs.lse)};
      return l;
    }
    const Enclosure log_sum = log_sum_truth(l.truth, l.bounds.epsilon);
    for (std::size_t j = 0; j < row.logits.size(); ++j) {
      const Enclosure y = log_prob_truth(l.truth, log_sum, static_cast<std::int64_t>(j));
      l.value.push_back(
          logarithm(l, variant.out(), y, logs.element(l.terms, y.lo, std::fabs(l.shift.delta[j]))));
    }
    return l;
  }
  for (std::size_t j = 0; j < l.truth.x.size(); ++j) l.value.push_back(probability(l, j));
  if (op != Op::topk_softmax) return l;
  // The slots of an equal logit have the same limits. What is not selected has none: no value is in them.
  const std::vector<Interval> slots = std::exchange(l.value, {});
  for (const double x : logits_of_row) {
    const auto at = std::find(l.truth.x.begin(), l.truth.x.end(), x) - l.truth.x.begin();
    l.value.push_back(static_cast<std::size_t>(at) < slots.size() ? slots[static_cast<std::size_t>(at)]
                                                                  : Interval{1, -1});
  }
  return l;
}

bool agree(double g, const Interval& of_g, double h, const Interval& of_h) {
  if (g == h) return true;
  return std::fabs(g - h) <= std::max(of_g.hi - of_h.lo, of_h.hi - of_g.lo);
}

std::string outside_limits(const Answer& answer, std::int64_t row, const RowLimits& limits) {
  const Problem& p = answer.problem;
  for (std::int64_t r = 0; r < p.out_columns(); ++r) {
    if (selects(p.op) && r >= p.V) break;
    const std::int64_t j = selects(p.op) ? answer.index(row, r) : r;
    if (j < 0 || j >= p.V) return fmt::format("slot {}: index {}", r, j);
    const Interval& i = limits.value[static_cast<std::size_t>(j)];
    const double g = answer.value(row, r);
    if (!i.contains(g)) return fmt::format("column {}: {:a} is outside [{:a}, {:a}]", j, g, i.lo, i.hi);
    const bool probability = probabilities(p.op);
    if (probability && (std::signbit(g) || !(g <= limits.bounds.range_top)))
      return fmt::format("column {}: {:a} is no probability", j, g);
  }
  return {};
}

}  // namespace assay
