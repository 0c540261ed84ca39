// SPDX-License-Identifier: Apache-2.0

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/float_generators.hpp"
#include "properties/operator/operator_properties.hpp"

namespace assay {
namespace {

bool is_finite_pair(Pair p) { return std::isfinite(p.m) && std::isfinite(p.d); }
bool same_bits(Pair a, Pair b) { return same(a.m, b.m) && same(a.d, b.d); }

void identity_from_both_sides(const Algebra& a) {
  const Pair x = (*drawn_pairs(1, Carrier::any, a.format))[0];
  RC_CLASSIFY(is_identity(x), "identity");
  RC_CLASSIFY(std::isnan(x.m), "NaN maximum");
  RC_CLASSIFY(x.m == std::numeric_limits<float>::infinity(), "+inf maximum");
  RC_CLASSIFY(is_finite_pair(x), "finite");
  RC_ASSERT(same_bits(a.combine(a.identity, x), x));
  RC_ASSERT(same_bits(a.combine(x, a.identity), x));
}

/// Tags the class, and within it the cases that a poor generator would leave out.
void classify(Float x) {
  const Format f = format(x.format);
  const std::uint64_t magnitude = x.bits & ~f.sign_mask();
  RC_TAG(std::string(name(class_of(x))));
  RC_CLASSIFY(x.bits == f.sign_mask(), "-0");
  RC_CLASSIFY(magnitude > 1 && magnitude < f.mantissa_mask(), "subnormal, not an extreme one");
  RC_CLASSIFY(magnitude == f.infinity_bits() - 1, "largest finite");
}

void leaf_is_x_and_one(const Algebra& a) {
  const Float x = *floats(a.format, {true, true});
  classify(x);
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
  const auto v = *drawn_pairs(2, Carrier::any, a.format);
  RC_CLASSIFY(v[0].m == v[1].m, "tie");
  RC_CLASSIFY(v[0].m == 0 && v[1].m == 0 && std::signbit(v[0].m) != std::signbit(v[1].m), "+0 and -0");
  RC_CLASSIFY(std::isnan(v[0].m) != std::isnan(v[1].m), "one NaN maximum");
  RC_CLASSIFY(is_identity(v[0]) || is_identity(v[1]), "identity");
  RC_CLASSIFY(is_finite_pair(v[0]) && is_finite_pair(v[1]) && std::fabs(v[0].m - v[1].m) < 20,
              "both sides count");
  RC_ASSERT(same(a.combine(v[0], v[1]), a.combine(v[1], v[0])));
}

void maximum_is_exact_and_associative(const Algebra& a) {
  const auto v = *drawn_pairs(3, Carrier::any, a.format);
  float expected = -std::numeric_limits<float>::infinity();
  for (Pair p : v) expected = std::isnan(p.m) || p.m > expected ? p.m : expected;
  RC_CLASSIFY(std::isnan(expected), "NaN maximum");
  RC_CLASSIFY(expected == std::numeric_limits<float>::infinity(), "+inf maximum");
  RC_CLASSIFY(std::isfinite(expected), "finite maximum");
  const auto same_maximum = [&](Pair p) {
    return p.m == expected || (std::isnan(p.m) && std::isnan(expected));
  };
  RC_ASSERT(same_maximum(a.combine(a.combine(v[0], v[1]), v[2])));
  RC_ASSERT(same_maximum(a.combine(v[0], a.combine(v[1], v[2]))));
}

/// d becomes NaN whatever it was: +inf - +inf is NaN, and NaN propagates.
void special_maximum_spoils_d(const Algebra& a) {
  const auto v = *drawn_pairs(2, Carrier::any, a.format);
  RC_PRE(!is_identity(v[0]) && !is_identity(v[1]));
  const bool special = !std::isfinite(v[0].m) || !std::isfinite(v[1].m);
  RC_CLASSIFY(special, "special");
  RC_CLASSIFY(v[0].m == std::numeric_limits<float>::infinity() && std::isfinite(v[1].m),
              "+inf over a finite maximum");
  if (special) RC_ASSERT(std::isnan(a.combine(v[0], v[1]).d));
}

/// Counts far beyond any row length: the claim ends exactly at 2^p.
void merged_counts_stay_within_their_sum(const Algebra& a) {
  auto v = *drawn_pairs(2, Carrier::counts, a.format);
  for (Pair& p : v) p.d = std::floor(p.d);
  const double count = static_cast<double>(v[0].d) + static_cast<double>(v[1].d);
  RC_PRE(count <= exact_count(a.format));
  RC_CLASSIFY(count > exact_count(a.format) / 2, "over half of 2^p");
  RC_CLASSIFY(v[0].m == v[1].m, "tie");
  const float d = a.combine(v[0], v[1]).d;
  RC_ASSERT(d >= 1.0f && d <= count);
  if (v[0].m == v[1].m) RC_ASSERT(d == count);
}

void minus_infinity_is_absent(const Algebra& a) {
  const Row row = *rows({Structure::masked, Structure::all_neg_inf}, formats_exact_in(a.format));
  const Tree tree = *trees();
  classify(row);
  std::vector<Pair> all = leaves_of(a, row), present;
  std::copy_if(all.begin(), all.end(), std::back_inserter(present), [](Pair p) { return !is_identity(p); });
  const auto root = [&](const std::vector<Pair>& leaves, Tree t) {
    return values_of(a, leaves, merges_of(t, leaves.size())).back();
  };
  if (present.empty()) {
    RC_ASSERT(same_bits(root(all, tree), a.identity));
  } else {
    RC_ASSERT(same_bits(root(all, {Shape::left}), root(present, {Shape::left})));
    RC_ASSERT(same_bits(root(all, {Shape::right}), root(present, {Shape::right})));
  }
}

void nan_and_plus_infinity_poison(const Algebra& a) {
  const Row row = *rows({Structure::poisoned}, formats_exact_in(a.format));
  const Tree tree = *trees();
  const bool has_nan = row.has(FloatClass::nan);
  RC_TAG(std::string(has_nan ? "NaN in the row" : "+inf alone"));
  const std::vector<Pair> leaves = leaves_of(a, row);
  const Pair r = values_of(a, leaves, merges_of(tree, leaves.size())).back();
  RC_ASSERT(std::isnan(r.d));
  RC_ASSERT((has_nan ? std::isnan(r.m) : r.m == std::numeric_limits<float>::infinity()));
}

void butterfly_lanes_agree(const Algebra& a) {
  const auto lanes = *drawn_pairs(kLanes, Carrier::any, a.format);
  const auto counts = *drawn_pairs(kLanes, Carrier::counts, a.format);
  RC_CLASSIFY(std::any_of(lanes.begin(), lanes.end(), is_identity), "a lane with the identity");
  for (const auto& in : {lanes, counts}) {
    Pair out[kLanes];
    a.butterfly(in.data(), out);
    for (Pair p : out) RC_ASSERT(same(p, out[0]));
  }
}

/// The premises of 1 <= d <= j.
void exp_is_at_most_one(const Algebra& a) {
  const Float x = *floats(a.format, {true, false});
  classify(x);
  const float e = a.exp_of(-std::fabs(x.as_float()));
  RC_ASSERT(e >= 0.0f && e <= 1.0f);
  if (class_of(x) == FloatClass::zero) RC_ASSERT(e == 1.0f);
}

}  // namespace

const std::vector<Property>& normalizer_properties() {
  static const std::vector<Property> all = [] {
    std::vector<Property> p = {
        {"identity_from_both_sides",
         identity_from_both_sides,
         20,
         {"identity", "NaN maximum", "+inf maximum", "finite"}},
        {"leaf_is_x_and_one",
         leaf_is_x_and_one,
         20,
         {"zero", "-0", "subnormal", "subnormal, not an extreme one", "normal", "-inf", "+inf", "NaN"}},
        {"commutative",
         commutative,
         50,
         {"tie", "+0 and -0", "one NaN maximum", "identity", "both sides count"}},
        {"maximum_is_exact_and_associative",
         maximum_is_exact_and_associative,
         20,
         {"NaN maximum", "+inf maximum", "finite maximum"}},
        {"special_maximum_spoils_d", special_maximum_spoils_d, 20, {"special", "+inf over a finite maximum"}},
        {"merged_counts_stay_within_their_sum",
         merged_counts_stay_within_their_sum,
         20,
         {"over half of 2^p", "tie"}},
        {"minus_infinity_is_absent", minus_infinity_is_absent, 10, {"masked", "all_neg_inf", "-inf"}},
        {"nan_and_plus_infinity_poison", nan_and_plus_infinity_poison, 10, {"NaN in the row", "+inf alone"}},
        {"butterfly_lanes_agree", butterfly_lanes_agree, 3, {"a lane with the identity"}},
        {"exp_is_at_most_one",
         exp_is_at_most_one,
         50,
         {"zero", "-0", "subnormal", "subnormal, not an extreme one", "normal", "-inf", "+inf"}},
    };
    for (const Property& t : tree_properties()) p.push_back(t);
    return p;
  }();
  return all;
}

}  // namespace assay
