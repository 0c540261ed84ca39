// SPDX-License-Identifier: Apache-2.0
// Properties of selection: it equals the prefix of the full stable sort and the prefix of any longer
// selection, and its values are those of softmax or log-softmax.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "accuracy/judge/judged_row.hpp"
#include "properties/variants/variant_properties.hpp"

namespace assay {
namespace {

bool sorted_slots(const Variant& v) { return selects(v.op) && v.claim.order == SlotOrder::sorted; }
bool by_logits(const Variant& v) { return sorted_slots(v) && v.claim.select == Select::logits; }
bool by_probs(const Variant& v) { return sorted_slots(v) && v.claim.select == Select::probs; }
/// Its values are those of an op of whole rows.
bool of_the_row(const Variant& v) { return v.op == Op::softmax_topk || v.op == Op::log_softmax_topk; }
Op op_of_rows(const Variant& v) { return v.op == Op::log_softmax_topk ? Op::log_softmax : Op::softmax; }

/// Positions in descending order of the stored logit; of equal logits (-0 = +0) the smaller index first. NaN
/// is placed by the policy, or left out if it is ignored.
std::vector<std::int64_t> sorted(const Row& row, NanOrder nan_order) {
  std::vector<std::int64_t> order(row.logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (nan_order == NanOrder::ignored)
    std::erase_if(
        order, [&](std::int64_t i) { return std::isnan(row.logits[static_cast<std::size_t>(i)].value()); });
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const double x = row.logits[static_cast<std::size_t>(a)].value();
    const double y = row.logits[static_cast<std::size_t>(b)].value();
    if (std::isnan(x) || std::isnan(y))
      return nan_order == NanOrder::last ? !std::isnan(x) && std::isnan(y) : std::isnan(x) && !std::isnan(y);
    return x > y;
  };
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

void prefix_of_the_sort(const Variant& v) {
  const Row row = *variant_rows(
      {Structure::uniform, Structure::moderate, Structure::equal_runs, Structure::ascending, Structure::ramp,
       Structure::mixed, Structure::masked, Structure::all_neg_inf, Structure::poisoned},
      v.dtype);
  const int k = draw_k(v, row);
  classify(row);
  const auto V = static_cast<std::int64_t>(row.logits.size());
  RC_CLASSIFY(k > V, "k exceeds the row");
  const Answer a = run(v, v.op, tensor_of({row}), {.pick = k});
  const std::vector<std::int64_t> order = sorted(row, v.claim.policy.nan_order);
  bool ties = false;
  for (std::int64_t r = 0; r < k; ++r) {
    if (r >= static_cast<std::int64_t>(order.size())) {
      RC_ASSERT(a.index(0, r) == -1);
      if (r >= V) RC_ASSERT(a.value(0, r) == empty_slot(v.op));
      continue;
    }
    const auto want = order[static_cast<std::size_t>(r)], got = a.index(0, r);
    RC_ASSERT(got == want);
    if (r > 0)
      ties = ties || row.logits[static_cast<std::size_t>(order[static_cast<std::size_t>(r - 1)])].value() ==
                         row.logits[static_cast<std::size_t>(want)].value();
    if (v.op == Op::topk) {
      const Float x = row.logits[static_cast<std::size_t>(want)];
      RC_ASSERT((class_of(x) == FloatClass::nan ? std::isnan(a.value(0, r)) : a.bits_at(0, r) == x.bits));
    }
  }
  RC_CLASSIFY(ties, "equal logits among the chosen");
}

/// Ranking by computed probabilities may swap only logits that are closer than the errors of their two exps
/// and divisions.
void prefix_but_for_close_logits(const Variant& v) {
  const Row row = *variant_rows(
      {Structure::moderate, Structure::equal_runs, Structure::ascending, Structure::ramp, Structure::masked},
      v.dtype);
  const int k = draw_k(v, row);
  classify(row);
  const RowLimits l = limits_of(v, v.op, row);
  const Answer a = run(v, v.op, tensor_of({row}), {.pick = k});
  const auto V = static_cast<std::int64_t>(row.logits.size());
  const auto own = [&](std::int64_t i) {
    const auto j = static_cast<std::size_t>(i);
    const double f = l.shift.f[j];
    return std::isinf(f) ? 0 : l.terms.eps(f) + std::fabs(l.shift.delta[j]) + lam(l.terms.D_own);
  };
  const double w = l.bounds.eta_s + 0.5 * min_subnormal(Dtype::f32);
  const auto at_least = [&](std::int64_t i) {
    return l.truth.lo[static_cast<std::size_t>(i)] * std::exp(-own(i)) - w;
  };
  const auto at_most = [&](std::int64_t i) {
    return l.truth.hi[static_cast<std::size_t>(i)] * std::exp(own(i)) + w;
  };
  std::vector<bool> chosen(row.logits.size(), false);
  double previous = INFINITY;
  for (std::int64_t r = 0; r < std::min<std::int64_t>(k, V); ++r) {
    const std::int64_t i = a.index(0, r);
    RC_ASSERT(i >= 0 && i < V);
    RC_ASSERT(!chosen[static_cast<std::size_t>(i)]);
    chosen[static_cast<std::size_t>(i)] = true;
    RC_ASSERT(at_least(i) <= previous);
    previous = std::min(previous, at_most(i));
  }
  for (std::int64_t i = 0; i < V; ++i)
    if (!chosen[static_cast<std::size_t>(i)]) RC_ASSERT(at_least(i) <= previous);
  RC_CLASSIFY(V > k, "some are left");
}

/// The columns are the same. How a kernel divides a row may depend on k, and with it the order of the sum: so
/// the probabilities are the same within both bounds.
void shorter_selection(const Variant& v) {
  const Row row = *variant_rows(
      {Structure::moderate, Structure::equal_runs, Structure::mixed, Structure::masked, Structure::poisoned},
      v.dtype);
  classify(row);
  const int longer = largest_k(v, row);
  const int k = std::min(draw_k(v, row), longer);
  const Answer a = run(v, v.op, tensor_of({row}), {.pick = k}),
               b = run(v, v.op, tensor_of({row}), {.pick = longer});
  RC_CLASSIFY(k < longer, "a shorter selection");
  std::optional<RowLimits> limits;
  for (std::int64_t r = 0; r < k; ++r) {
    RC_ASSERT(a.index(0, r) == b.index(0, r));
    if (v.op == Op::topk_softmax) continue;  // its values are shares of another sum
    const double g = a.value(0, r), h = b.value(0, r);
    if ((std::isnan(g) && std::isnan(h)) || a.bits_at(0, r) == b.bits_at(0, r)) continue;
    RC_ASSERT(of_the_row(v));
    const std::int64_t j = a.index(0, r);
    RC_ASSERT(j >= 0 && !std::isnan(g) && !std::isnan(h));
    if (!limits) limits = limits_of(v, v.op, row);
    if (!limits->outside.empty()) continue;
    const Interval& i = limits->value[static_cast<std::size_t>(j)];
    if (!i.contains(g) || !i.contains(h) || !agree(g, i, h, i))
      RC_FAIL(fmt::format(
          "slot {} (column {}): {:a} for k = {}, and {:a} for k = {}: further apart than both bounds", r, j,
          g, k, h, longer));
  }
}

/// Variants of an op of whole rows and of the same type: those of the same backend or, for an external
/// kernel, of the host.
std::vector<const Variant*> of_rows_beside(const Variant& v, Op op) {
  const Backend beside = v.backend == Backend::plugin ? Backend::host : v.backend;
  std::vector<const Variant*> those;
  for (const Variant& s : registry())
    // A causal variant reads only a part of a row.
    if (s.op == op && s.claim.causal == Causal::no && s.backend == beside && s.dtype == v.dtype)
      those.push_back(&s);
  return those;
}

void values_are_those_of_the_row(const Variant& v) {
  const Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  const int k = draw_k(v, row);
  Draw draw = draw_more();
  const Op op = op_of_rows(v);
  const std::vector<const Variant*> beside = of_rows_beside(v, op);
  RC_ASSERT(!beside.empty());
  const Variant& whole = *beside[draw.below(beside.size())];
  classify(row);
  const RowLimits l = limits_of(v, v.op, row), of_whole = limits_of(whole, op, row);
  if (!l.outside.empty() || !of_whole.outside.empty()) return;
  RC_TAG(std::string("inside both domains"));
  const Answer a = run(v, v.op, tensor_of({row}), {.pick = k}), b = run(whole, op, tensor_of({row}));
  bool equal = true;
  for (std::int64_t r = 0; r < std::min<std::int64_t>(k, a.problem.V); ++r) {
    const std::int64_t j = a.index(0, r);
    RC_ASSERT(j >= 0 && j < a.problem.V);
    const double g = a.value(0, r), h = b.value(0, j);
    const Interval &i = l.value[static_cast<std::size_t>(j)],
                   &of_h = of_whole.value[static_cast<std::size_t>(j)];
    equal = equal && g == h;
    if (!i.contains(g) || !of_h.contains(h) || !agree(g, i, h, of_h))
      RC_FAIL(fmt::format("slot {} (column {}): {:a}, but {} gives {:a}: further apart than both bounds", r,
                          j, g, whole.key(), h));
  }
  RC_TAG(std::string(equal ? "bit-equal to the whole row's" : "within both bounds"));
}

}  // namespace

std::vector<VariantProperty> topk_properties() {
  return {
      {"topk_is_the_prefix_of_the_full_sort",
       by_logits,
       prefix_of_the_sort,
       150,
       {"equal logits among the chosen", "k exceeds the row", "zero", "subnormal", "-inf", "+inf", "NaN",
        "all_neg_inf", "masked", "ramp"}},
      {"topk_by_probability_swaps_only_close_logits",
       by_probs,
       prefix_but_for_close_logits,
       150,
       {"some are left", "ramp", "equal_runs", "masked", "-inf"}},
      {"a_shorter_topk_is_a_prefix_of_a_longer",
       sorted_slots,
       shorter_selection,
       40,
       {"a shorter selection", "equal_runs", "masked", "NaN"}},
      {"topk_values_are_those_of_the_row",
       of_the_row,
       values_are_those_of_the_row,
       100,
       {"inside both domains", "bit-equal to the whole row's", "within both bounds", "mixed", "masked"}},
  };
}

// Properties of min_p and top_p: the kept set is right, and its softmax within the bounds.

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
