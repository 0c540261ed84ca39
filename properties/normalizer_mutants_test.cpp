// The properties, tested: each planted fault in ⊕ must lose at least the property named beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/normalizer_properties.hpp"

namespace assay {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Pair kIdentity{-kInfinity, 0};

Pair right_leaf(float x) { return x == -kInfinity ? kIdentity : Pair{x, 1.0f + (x - x)}; }
float right_exp(float t) { return std::exp(t); }
bool a_is_high(Pair a, Pair b) { return a.m > b.m || a.m != a.m; }

Pair right(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d * std::exp(b.m - a.m) + (a.m - a.m)};
}

Pair no_rescale(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d + (a.m - a.m)};
}
Pair rescales_the_larger(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d * std::exp(b.m - a.m) + b.d + (a.m - a.m)};
}
Pair no_identity_guard(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  return {a.m, a.d + b.d * std::exp(b.m - a.m) + (a.m - a.m)};
}
Pair guards_one_side_only(Pair a, Pair b) { return b.m == -kInfinity ? a : no_identity_guard(a, b); }
Pair tie_keeps_one_side(Pair a, Pair b) { return a.m == b.m ? a : right(a, b); }
Pair tie_is_order_dependent(Pair a, Pair b) {
  const Pair r = right(a, b);
  return a.m == b.m && a.d > b.d ? Pair{r.m, std::nextafter(r.d, kInfinity)} : r;
}
Pair nan_maximum_is_dropped(Pair a, Pair b) {
  const bool high = a.m > b.m || b.m != b.m;
  if (!high) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + (b.m != b.m ? 0 : b.d * std::exp(b.m - a.m)) + (a.m - a.m)};
}
Pair infinite_maximum_is_finite(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d * std::exp(b.m - a.m)};
}
Pair smaller_maximum(Pair a, Pair b) {
  if (is_identity(a)) return b;
  if (is_identity(b)) return a;
  return {std::min(a.m, b.m), right(a, b).d};
}
Pair drops_far_terms(Pair a, Pair b) {
  return std::fabs(a.m - b.m) > 8 ? (a_is_high(a, b) ? a : b) : right(a, b);
}
Pair two_exps_contracted(Pair a, Pair b) {
  const float m = std::fmax(a.m, b.m);
  if (m == -kInfinity) return kIdentity;
  return {m, std::fma(a.d, std::exp(a.m - m), b.d * std::exp(b.m - m))};
}
float loose_exp(float t) { return t == 0 ? 1 : std::exp(t) * (1 - 0x1p-19f); }
Pair loose_exp_combine(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d * loose_exp(b.m - a.m) + (a.m - a.m)};
}
float exp_above_one(float t) { return std::exp(t) * (1 + 0x1p-23f); }
Pair exp_above_one_combine(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d * exp_above_one(b.m - a.m) + (a.m - a.m)};
}

Pair leaf_counts_minus_infinity(float x) { return {x, x == -kInfinity ? 1 : 1.0f + (x - x)}; }
Pair leaf_forgives_infinity(float x) { return x == -kInfinity ? kIdentity : Pair{x, 1}; }

template <Pair (*combine)(Pair, Pair)>
void butterfly(const Pair* lanes, Pair* results) {
  std::copy_n(lanes, kLanes, results);
  for (int step = kLanes / 2; step > 0; step /= 2) {
    Pair other[kLanes];
    for (int i = 0; i < kLanes; ++i) other[i] = results[i ^ step];
    for (int i = 0; i < kLanes; ++i) results[i] = combine(results[i], other[i]);
  }
}

template <Pair (*combine)(Pair, Pair)>
constexpr Algebra algebra(const char* name, Pair (*leaf)(float) = right_leaf,
                          float (*exp_of)(float) = right_exp) {
  return {name, Backend::host, Exp::accurate, kIdentity, leaf, combine, exp_of, butterfly<combine>};
}

std::vector<std::string> lost_by(const Algebra& a) {
  std::vector<std::string> lost;
  for (const Property& p : normalizer_properties())
    if (!failure_of(p, a, false).empty()) lost.push_back(p.name);
  return lost;
}

struct Mutant {
  Algebra algebra;
  const char* loses;
};

const Mutant kMutants[] = {
    {algebra<no_rescale>("no_rescale"), "any_tree_within_bounds"},
    {algebra<rescales_the_larger>("rescales_the_larger"), "any_tree_within_bounds"},
    {algebra<no_identity_guard>("no_identity_guard"), "identity_from_both_sides"},
    {algebra<guards_one_side_only>("guards_one_side_only"), "identity_from_both_sides"},
    {algebra<tie_keeps_one_side>("tie_keeps_one_side"), "merged_counts_stay_within_their_sum"},
    {algebra<tie_is_order_dependent>("tie_is_order_dependent"), "commutative"},
    {algebra<nan_maximum_is_dropped>("nan_maximum_is_dropped"), "nan_and_plus_infinity_poison"},
    {algebra<infinite_maximum_is_finite>("infinite_maximum_is_finite"), "special_maximum_spoils_d"},
    {algebra<smaller_maximum>("smaller_maximum"), "maximum_is_exact_and_associative"},
    {algebra<drops_far_terms>("drops_far_terms"), "associative_within_bounds"},
    {algebra<two_exps_contracted>("two_exps_contracted"), "butterfly_lanes_agree"},
    {algebra<loose_exp_combine>("loose_exp", right_leaf, loose_exp), "any_tree_within_bounds"},
    {algebra<exp_above_one_combine>("exp_above_one", right_leaf, exp_above_one), "exp_is_at_most_one"},
    {algebra<right>("leaf_counts_minus_infinity", leaf_counts_minus_infinity), "leaf_is_x_and_one"},
    {algebra<right>("leaf_forgives_infinity", leaf_forgives_infinity), "leaf_is_x_and_one"},
};

TEST(NormalizerMutants, WithoutAFaultNothingIsLost) {
  EXPECT_EQ(lost_by(algebra<right>("right")), std::vector<std::string>());
}

TEST(NormalizerMutants, EachFaultLosesItsProperty) {
  std::vector<std::string> useful;
  for (const Mutant& m : kMutants) {
    const std::vector<std::string> lost = lost_by(m.algebra);
    EXPECT_NE(std::find(lost.begin(), lost.end(), m.loses), lost.end())
        << m.algebra.name << " keeps " << m.loses << " and loses " << testing::PrintToString(lost);
    useful.insert(useful.end(), lost.begin(), lost.end());
  }
  for (const Property& p : normalizer_properties())
    EXPECT_NE(std::find(useful.begin(), useful.end(), p.name), useful.end()) << "no mutant loses " << p.name;
}

}  // namespace
}  // namespace assay
