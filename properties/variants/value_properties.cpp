// SPDX-License-Identifier: Apache-2.0
// Properties of one row: every output within its bound, order kept, sum 1, counts, special values.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/variants/variant_properties.hpp"

namespace assay {
namespace {

bool has_special_values(const Variant& v) { return v.op != Op::topk; }
/// Sets have properties of their own: their values depend on what is kept.
bool has_values(const Variant& v) { return v.op != Op::topk && !keeps_a_set(v.op); }
bool is_softmax(const Variant& v) { return v.op == Op::softmax; }
bool has_normalizer(const Variant& v) { return v.does(Op::normalizer); }

/// Runs one row with one key; every value must be in its interval. Rows outside the key's domain are run too.
void within_bound(const Variant& v, const std::vector<Structure>& structures) {
  const Row row = *variant_rows(structures, v.dtype);
  const Pick pick = draw_pick(v, row);
  classify(row);
  const RowLimits limits = limits_of(v, v.op, row, pick);
  const Answer answer = run(v, v.op, tensor_of({row}), {.pick = pick});
  RC_CLASSIFY(limits.outside.empty(), "inside the domain");
  RC_CLASSIFY(row.logits.size() > 1024, "more than 1024 logits");
  if (!limits.outside.empty()) return;
  const std::string wrong = outside_limits(answer, 0, limits);
  if (!wrong.empty()) RC_FAIL(wrong);
}
void overflow_inputs(const Variant& v) {
  within_bound(v, {Structure::overflow, Structure::huge, Structure::uniform});
}
void mixed_magnitudes(const Variant& v) { within_bound(v, {Structure::mixed}); }
void ordinary_rows(const Variant& v) {
  within_bound(v, {Structure::moderate, Structure::equal_runs, Structure::ascending, Structure::ramp,
                   Structure::masked});
}

/// A larger logit gives no smaller output, except for the errors of both exps and of an approximate division.
/// Equal logits give equal bits.
void monotone(const Variant& v) {
  const Row row = *variant_rows(
      {Structure::moderate, Structure::equal_runs, Structure::ramp, Structure::mixed, Structure::masked},
      v.dtype);
  classify(row);
  const RowLimits l = limits_of(v, v.op, row);
  if (!l.outside.empty()) return;
  RC_TAG(std::string("inside the domain"));
  const Answer answer = run(v, v.op, tensor_of({row}));
  const auto value = [&](std::int32_t j) { return answer.value(0, j); };
  const auto eps = [&](std::int32_t j) {
    const double f = l.shift.f[static_cast<std::size_t>(j)];
    return std::isinf(f) ? 0 : l.terms.eps(f);
  };
  bool ties = false;
  for (std::size_t r = 1; r < l.truth.order.size(); ++r) {
    const std::int32_t above = l.truth.order[r - 1], below = l.truth.order[r];
    const double x = l.truth.x[static_cast<std::size_t>(above)],
                 y = l.truth.x[static_cast<std::size_t>(below)];
    if (std::isinf(y)) break;
    if (x == y) {
      ties = true;
      if (!l.terms.kept && !l.terms.any_shift)
        RC_ASSERT(answer.bits_at(0, above) == answer.bits_at(0, below));
      continue;
    }
    const double slack =
        order_slack(l.terms, eps(above) + eps(below), l.truth.d[static_cast<std::size_t>(below)]);
    const double g = value(below);
    // Exactly ordered if the exp was found monotone and the division is correctly rounded.
    RC_ASSERT(value(above) >= (slack == 0 ? g : g * (1 - slack) - 2 * l.bounds.w));
  }
  RC_CLASSIFY(ties, "equal logits");
}

void sums_to_one(const Variant& v) {
  const Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  classify(row);
  const RowLimits l = limits_of(v, v.op, row);
  if (!l.outside.empty()) return;
  RC_TAG(std::string("inside the domain"));
  const Answer answer = run(v, v.op, tensor_of({row}));
  long double sum = 0;  // sum of up to 2^12 values: its error of 2^-52 is below any bound
  for (std::int64_t j = 0; j < answer.problem.V; ++j) sum += static_cast<long double>(answer.value(0, j));
  RC_ASSERT(std::fabs(static_cast<double>(sum - 1) + l.bounds.share) <= l.bounds.row_sum + 0x1p-50);
}

/// (m, d) of every prefix of a row in one launch: row j keeps x[0..j) and is -inf after it. m is exact, d is
/// within its bound, and 1 <= d <= j if the maximum contributes exactly 1.
void normalizer_of_every_prefix(const Variant& v) {
  const Row row = *rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, {v.dtype}, 40);
  classify(row);
  const std::size_t n = row.logits.size();
  const Format f = format(v.dtype);
  const Float absent{v.dtype, f.sign_mask() | f.infinity_bits()};
  std::vector<Row> prefixes;
  for (std::size_t j = 0; j <= n; ++j) {
    prefixes.push_back(row);
    std::fill(prefixes.back().logits.begin() + static_cast<std::ptrdiff_t>(j), prefixes.back().logits.end(),
              absent);
  }
  const Answer answer = run(v, Op::normalizer, tensor_of(prefixes));
  const bool online = v.claim.algorithm == Algorithm::online;
  for (std::size_t j = 0; j <= n; ++j) {
    const Pair got{answer.m[j], answer.d[j]};
    if (!is_finite_or_masked(prefixes[j])) {
      RC_TAG(std::string("a prefix of nothing but -inf"));
      if (online && !(is_identity(got) && got.d == 0))
        RC_FAIL(fmt::format("prefix {} holds nothing and is ({:a}, {:a}), not (-inf, 0)", j, got.m, got.d));
      continue;
    }
    const RowLimits l = limits_of(v, Op::normalizer, prefixes[j]);
    if (!l.outside.empty()) continue;
    RC_TAG(std::string("inside the domain"));
    const double m = l.terms.shifted ? l.truth.m : 0;
    const double exact = l.terms.shifted ? std::log(l.truth.s.lo) + l.bounds.anchor : l.truth.lse.lo;
    const double error = std::fabs(std::log(static_cast<double>(got.d)) - exact);
    // d may be written with or without epsilon.
    const double may_lack = l.bounds.share > 0 ? 2 * lam(l.bounds.share) : 0;
    if (!(static_cast<double>(got.m) == m) ||
        !(error <= l.bounds.b + may_lack + 0x1p-48 * (1 + std::fabs(exact))))
      RC_FAIL(fmt::format("prefix {}: ({:a}, {:a}), but m = {:a} and ln d = {:.17g} within {:.3g}", j, got.m,
                          got.d, m, exact, l.bounds.b));
    if (!online || !l.terms.unit_maximum()) continue;
    RC_TAG(std::string("1 <= d <= j"));
    const double most = (static_cast<double>(l.truth.finite) + l.bounds.epsilon) * (1 + 2 * l.terms.u);
    if (!(got.d >= 1.0f &&
          static_cast<double>(got.d) <= (l.bounds.epsilon > 0 ? most : static_cast<double>(l.truth.finite))))
      RC_FAIL(fmt::format("prefix {}: d = {:a} is outside [1, {}]", j, got.d, l.truth.finite));
  }
}

/// The row of which op topk_softmax is the softmax: what the launch has selected.
Row selection_of(const Row& row, const Answer& a) {
  Row selected{row.structure, {}};
  for (std::int64_t r = 0; r < a.problem.k; ++r)
    if (const std::int64_t j = a.index(0, r); j >= 0 && j < a.problem.V)
      selected.logits.push_back(row.logits[static_cast<std::size_t>(j)]);
  return selected;
}

/// A special row gives NaN everywhere, or what the claim's policy says.
void special_rows(const Variant& v) {
  const Row row = *variant_rows({Structure::poisoned, Structure::all_neg_inf}, v.dtype);
  const Pick pick = draw_pick(v, row);
  classify(row);
  const bool infinite = !row.has(FloatClass::nan) && row.has(FloatClass::positive_infinity);
  RC_CLASSIFY(infinite, "+inf alone");
  if (infinite && v.claim.algorithm == Algorithm::naive) {
    // For naive kernels a finite logit whose e^x overflows counts as +inf.
    for (Float x : row.logits) RC_PRE(!std::isfinite(x.value()) || x.value() < 88.7);
  }
  const Answer answer = run(v, v.op, tensor_of({row}), {.pick = pick});
  const Policy policy = v.claim.policy;
  std::vector<double> values;
  for (const Float x : row.logits) values.push_back(x.value());
  if (!outside_values(v, values).empty()) return;
  const Row seen = v.op == Op::topk_softmax ? selection_of(row, answer) : row;
  if (is_finite_or_masked(seen)) {  // what is special was not selected
    for (std::size_t r = 0; r < seen.logits.size(); ++r)
      RC_ASSERT(!std::isnan(answer.value(0, static_cast<std::int64_t>(r))));
    return;
  }
  const bool nan = seen.has(FloatClass::nan);
  const bool pos_inf = !nan && seen.has(FloatClass::positive_infinity);
  std::int64_t selectable = answer.problem.V;
  if (policy.nan_order == NanOrder::ignored)
    for (const Float x : row.logits) selectable -= class_of(x) == FloatClass::nan;
  for (std::int64_t r = 0; r < answer.problem.out_columns(); ++r) {
    if (selects(v.op) && r >= selectable) break;
    const std::int64_t j = selects(v.op) ? answer.index(0, r) : r;
    RC_ASSERT(j >= 0 && j < answer.problem.V);
    const double g = answer.value(0, r);
    if (v.op == Op::lse) {
      const bool inf_only = policy.pos_inf == PosInfRows::inf_only;
      if (nan || (pos_inf && !inf_only))
        RC_ASSERT(std::isnan(g));
      else
        RC_ASSERT(std::isinf(g) && std::signbit(g) == !pos_inf);
      continue;
    }
    const bool zero = !nan && (pos_inf ? policy.pos_inf == PosInfRows::inf_only &&
                                             class_of(row.logits[static_cast<std::size_t>(j)]) !=
                                                 FloatClass::positive_infinity
                                       : policy.all_neg_inf == NegInfRows::zero);
    if (zero && logarithms(v.op))
      RC_ASSERT(std::isinf(g) && std::signbit(g));
    else if (zero)
      RC_ASSERT(g == 0 && !std::signbit(g));
    else
      RC_ASSERT(std::isnan(g));
  }
}

}  // namespace

std::vector<VariantProperty> value_properties() {
  return {
      {"overflow_inputs_stay_within_the_bound",
       has_values,
       overflow_inputs,
       60,
       {"overflow", "huge", "uniform", "subnormal", "e^max overflows", "e^max vanishes", "x - max overflows",
        "inside the domain", "more than 1024 logits"}},
      {"mixed_magnitudes_stay_within_the_bound",
       has_values,
       mixed_magnitudes,
       60,
       {"mixed", "zero", "subnormal", "e^max overflows", "inside the domain", "more than 1024 logits"}},
      {"ordinary_rows_stay_within_the_bound",
       has_values,
       ordinary_rows,
       60,
       {"moderate", "equal_runs", "ascending", "ramp", "masked", "-inf", "tie at the maximum",
        "inside the domain", "more than 1024 logits"}},
      {"larger_logit_no_smaller_output",
       is_softmax,
       monotone,
       60,
       {"equal logits", "moderate", "ramp", "mixed", "masked", "inside the domain"}},
      {"outputs_sum_to_one",
       is_softmax,
       sums_to_one,
       60,
       {"uniform", "moderate", "equal_runs", "ascending", "ramp", "huge", "overflow", "mixed", "masked",
        "inside the domain"}},
      {"normalizer_of_every_prefix",
       has_normalizer,
       normalizer_of_every_prefix,
       20,
       {"a prefix of nothing but -inf", "1 <= d <= j", "masked", "ascending", "mixed", "inside the domain"}},
      {"special_rows_follow_the_policy",
       has_special_values,
       special_rows,
       30,
       {"all_neg_inf", "NaN", "+inf alone"}},
  };
}

}  // namespace assay
