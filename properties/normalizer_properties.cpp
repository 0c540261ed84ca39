#include "properties/normalizer_properties.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/float_generators.hpp"
#include "properties/pair_generators.hpp"
#include "properties/reduction_tree.hpp"
#include "reference/oracle.hpp"

namespace assay {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kLargestCount = 0x1p24;  // up to which a float counts exactly

bool is_finite_pair(Pair p) { return std::isfinite(p.m) && std::isfinite(p.d); }
bool same_bits(Pair a, Pair b) { return same(a.m, b.m) && same(a.d, b.d); }
std::vector<Structure> with_finite_maximum() {
  return {std::begin(kFiniteMaximum), std::end(kFiniteMaximum)};
}

std::vector<Pair> leaves_of(const Algebra& a, const Row& row) {
  std::vector<Pair> leaves;
  for (Float x : row.logits) leaves.push_back(a.leaf(x.as_float()));
  return leaves;
}

RowTruth truth_of(const Row& row) {
  std::vector<float> x;  // every logit is exact in f32
  for (Float v : row.logits) x.push_back(v.as_float());
  return row_truth(Dtype::f32, x.data(), static_cast<std::int64_t>(x.size()), Dtype::f32);
}

void identity_from_both_sides(const Algebra& a) {
  const Pair x = (*pairs(1, Carrier::any))[0];
  RC_CLASSIFY(is_identity(x), "identity");
  RC_CLASSIFY(std::isnan(x.m), "NaN maximum");
  RC_CLASSIFY(x.m == kInfinity, "+inf maximum");
  RC_ASSERT(same_bits(a.combine(a.identity, x), x));
  RC_ASSERT(same_bits(a.combine(x, a.identity), x));
}

void leaf_is_x_and_one(const Algebra& a) {
  const Float x = *floats(Dtype::f32, {true, true});
  RC_CLASSIFY(true, name(class_of(x)));
  const Pair leaf = a.leaf(x.as_float());
  if (class_of(x) == FloatClass::negative_infinity) {
    RC_ASSERT(same_bits(leaf, a.identity));
  } else {
    RC_ASSERT(same(leaf.m, x.as_float()));
    const bool finite = class_of(x) <= FloatClass::normal;
    RC_ASSERT((finite ? leaf.d == 1.0f : std::isnan(leaf.d)));
  }
}

void commutative(const Algebra& a) {
  const auto v = *pairs(2, Carrier::any);
  RC_CLASSIFY(v[0].m == v[1].m, "tie");
  RC_CLASSIFY(v[0].m == 0 && v[1].m == 0 && std::signbit(v[0].m) != std::signbit(v[1].m), "+0 and -0");
  RC_CLASSIFY(std::isnan(v[0].m) != std::isnan(v[1].m), "one NaN maximum");
  RC_CLASSIFY(is_identity(v[0]) || is_identity(v[1]), "identity");
  RC_CLASSIFY(is_finite_pair(v[0]) && is_finite_pair(v[1]) && std::fabs(v[0].m - v[1].m) < 20,
              "both sides count");
  RC_ASSERT(same(a.combine(v[0], v[1]), a.combine(v[1], v[0])));
}

void maximum_is_exact_and_associative(const Algebra& a) {
  const auto v = *pairs(3, Carrier::any);
  float expected = -kInfinity;
  for (Pair p : v) expected = std::isnan(p.m) || p.m > expected ? p.m : expected;
  RC_CLASSIFY(std::isnan(expected), "NaN maximum");
  RC_CLASSIFY(expected == kInfinity, "+inf maximum");
  const auto same_maximum = [&](Pair p) {
    return p.m == expected || (std::isnan(p.m) && std::isnan(expected));
  };
  RC_ASSERT(same_maximum(a.combine(a.combine(v[0], v[1]), v[2])));
  RC_ASSERT(same_maximum(a.combine(v[0], a.combine(v[1], v[2]))));
}

/// Whatever its d was: +inf - +inf is no exponent, and NaN spreads.
void special_maximum_spoils_d(const Algebra& a) {
  const auto v = *pairs(2, Carrier::any);
  RC_PRE(!is_identity(v[0]) && !is_identity(v[1]));
  const bool special = !std::isfinite(v[0].m) || !std::isfinite(v[1].m);
  RC_CLASSIFY(special, "special");
  RC_CLASSIFY(v[0].m == kInfinity && std::isfinite(v[1].m), "+inf over a finite maximum");
  if (special) RC_ASSERT(std::isnan(a.combine(v[0], v[1]).d));
}

/// |ln(computed d / exact d)|, the exact one by doubles: 2^29 finer than what is judged.
double log_error(Pair computed, double exact) {
  return std::fabs(std::log(static_cast<double>(computed.d) / exact));
}

void associative_within_bounds(const Algebra& a) {
  const auto v = *pairs(3, Carrier::counts);
  const double m = std::max({v[0].m, v[1].m, v[2].m});
  std::vector<double> distance, weight;
  double exact = 0;
  for (Pair p : v) {
    distance.push_back(p.m - m);
    weight.push_back(p.d);
    exact += weight.back() * std::exp(distance.back());
  }
  RC_CLASSIFY(std::count(distance.begin(), distance.end(), 0.0) > 1, "tie at the maximum");
  RC_CLASSIFY(exact > 1.01 * weight[0] && exact > 1.01 * weight[1] && exact > 1.01 * weight[2],
              "several terms count");
  const Reduction left = reduce(a, v, {Shape::serial, 0});
  const Reduction right = reduce(a, {v[1], v[2], v[0]}, {Shape::serial, 0});
  const Pair right_by_hand = a.combine(v[0], a.combine(v[1], v[2]));
  const double left_bound = log_error_bound(a, left, distance, weight, exact);
  const double right_bound = log_error_bound(a, right, {distance[1], distance[2], distance[0]},
                                             {weight[1], weight[2], weight[0]}, exact);
  RC_ASSERT(log_error(left.value, exact) <= left_bound);
  RC_ASSERT(log_error(right_by_hand, exact) <= right_bound);
  RC_ASSERT(log_error(left.value, right_by_hand.d) <= left_bound + right_bound);
}

void any_tree_within_bounds(const Algebra& a) {
  const Row row = *rows(with_finite_maximum());
  const Tree tree = *trees();
  RC_CLASSIFY(true, name(row.structure));
  const RowTruth truth = truth_of(row);
  const Reduction r = reduce(a, leaves_of(a, row), tree);
  RC_ASSERT(static_cast<double>(r.value.m) == truth.m);
  const std::vector<double> ones(truth.d.size(), 1);
  const double bound = log_error_bound(a, r, truth.d, ones, truth.s.lo);
  RC_CLASSIFY(bound > 0 && log_error(r.value, truth.s.lo) > 0.05 * bound,
              "sharp: error over 0.05 of the bound");
  RC_ASSERT(log_error(r.value, truth.s.lo) <= bound);
  RC_ASSERT(log_error(r.value, truth.s.hi) <= bound);
}

void between_one_and_count(const Algebra& a) {
  const Row row = *rows(with_finite_maximum());
  const Tree tree = *trees();
  const std::vector<Pair> leaves = leaves_of(a, row);
  RC_CLASSIFY(is_identity(leaves[0]), "-inf in front");
  // Every node of a serial tree is a prefix.
  for (Tree t : {Tree{Shape::serial, 0}, tree}) {
    reduce(a, leaves, t, [&](Pair node, int terms) {
      if (terms == 0)
        RC_ASSERT(same_bits(node, a.identity));
      else
        RC_ASSERT(node.d >= 1.0f && node.d <= static_cast<float>(terms));
    });
  }
}

/// Counts far beyond any row: the claim ends exactly at 2^24.
void merged_counts_stay_within_their_sum(const Algebra& a) {
  auto v = *pairs(2, Carrier::counts);
  for (Pair& p : v) p.d = std::floor(p.d);
  const double count = static_cast<double>(v[0].d) + v[1].d;
  RC_PRE(count <= kLargestCount);
  RC_CLASSIFY(count > kLargestCount / 2, "over half of 2^24");
  RC_CLASSIFY(v[0].m == v[1].m, "tie");
  const float d = a.combine(v[0], v[1]).d;
  RC_ASSERT(d >= 1.0f && d <= count);
  if (v[0].m == v[1].m) RC_ASSERT(d == count);
}

void minus_infinity_is_absent(const Algebra& a) {
  const Row row = *rows({Structure::masked, Structure::all_neg_inf});
  const Tree tree = *trees();
  RC_CLASSIFY(true, name(row.structure));
  std::vector<Pair> all = leaves_of(a, row), present;
  std::copy_if(all.begin(), all.end(), std::back_inserter(present), [](Pair p) { return !is_identity(p); });
  if (present.empty()) {
    RC_ASSERT(same_bits(reduce(a, all, tree).value, a.identity));
  } else {
    const Tree serial{Shape::serial, 0};
    RC_ASSERT(same_bits(reduce(a, all, serial).value, reduce(a, present, serial).value));
  }
}

void nan_and_plus_infinity_poison(const Algebra& a) {
  const Row row = *rows({Structure::poisoned});
  const Tree tree = *trees();
  const bool has_nan = std::any_of(row.logits.begin(), row.logits.end(),
                                   [](Float x) { return class_of(x) == FloatClass::nan; });
  RC_CLASSIFY(true, has_nan ? "NaN" : "+inf alone");
  const Pair r = reduce(a, leaves_of(a, row), tree).value;
  RC_ASSERT(std::isnan(r.d));
  RC_ASSERT((has_nan ? std::isnan(r.m) : r.m == kInfinity));
}

void butterfly_lanes_agree(const Algebra& a) {
  const auto lanes = *pairs(kLanes, Carrier::any);
  const auto counts = *pairs(kLanes, Carrier::counts);
  for (const auto& in : {lanes, counts}) {
    Pair out[kLanes];
    a.butterfly(in.data(), out);
    for (Pair p : out) RC_ASSERT(same(p, out[0]));
  }
}

/// The premises of 1 <= d <= j.
void exp_is_at_most_one(const Algebra& a) {
  const Float x = *floats(Dtype::f32, {true, false});
  RC_CLASSIFY(true, name(class_of(x)));
  const float e = a.exp_of(-std::fabs(x.as_float()));
  RC_ASSERT(e >= 0.0f && e <= 1.0f);
  if (class_of(x) == FloatClass::zero) RC_ASSERT(e == 1.0f);
}

}  // namespace

const std::vector<Property>& normalizer_properties() {
  static const std::vector<Property> all = {
      {"identity_from_both_sides", identity_from_both_sides, 20, {"identity", "NaN maximum", "+inf maximum"}},
      {"leaf_is_x_and_one", leaf_is_x_and_one, 20, {"zero", "subnormal", "normal", "-inf", "+inf", "NaN"}},
      {"commutative",
       commutative,
       50,
       {"tie", "+0 and -0", "one NaN maximum", "identity", "both sides count"}},
      {"maximum_is_exact_and_associative",
       maximum_is_exact_and_associative,
       20,
       {"NaN maximum", "+inf maximum"}},
      {"special_maximum_spoils_d", special_maximum_spoils_d, 20, {"special", "+inf over a finite maximum"}},
      {"associative_within_bounds",
       associative_within_bounds,
       50,
       {"tie at the maximum", "several terms count"}},
      {"any_tree_within_bounds",
       any_tree_within_bounds,
       20,
       {"uniform", "moderate", "equal_runs", "ascending", "ramp", "huge", "masked",
        "sharp: error over 0.05 of the bound"}},
      {"between_one_and_count", between_one_and_count, 20, {"-inf in front"}},
      {"merged_counts_stay_within_their_sum",
       merged_counts_stay_within_their_sum,
       20,
       {"over half of 2^24", "tie"}},
      {"minus_infinity_is_absent", minus_infinity_is_absent, 10, {"masked", "all_neg_inf"}},
      {"nan_and_plus_infinity_poison", nan_and_plus_infinity_poison, 10, {"NaN", "+inf alone"}},
      {"butterfly_lanes_agree", butterfly_lanes_agree, 3, {}},
      {"exp_is_at_most_one", exp_is_at_most_one, 50, {"zero", "subnormal", "normal", "-inf", "+inf"}},
  };
  return all;
}

}  // namespace assay
