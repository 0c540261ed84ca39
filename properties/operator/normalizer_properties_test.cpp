// SPDX-License-Identifier: Apache-2.0
// ⊕ as the kernels use it, in every format and on every backend of this build. Each property is one test and
// reports its coverage.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernels/device.hpp"
#include "properties/float_generators.hpp"
#include "properties/operator/on_algebra_test.hpp"
#include "properties/operator/operator_properties.hpp"

namespace assay {
namespace {

/// One algebra and one property.
struct AlgebraCase {
  const Algebra* algebra;
  const Property* property;
};
void PrintTo(const AlgebraCase& c, std::ostream* os) {
  *os << name_of(*c.algebra) << "_" << c.property->name;
}

class Normalizer : public testing::TestWithParam<AlgebraCase> {};
TEST_P(Normalizer, Has) {
  const auto [algebra, property] = GetParam();
  if (const std::string why = unavailable_reason(algebra->backend); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = outcome_of(*property, *algebra);
  std::printf("%s\n", outcome.coverage.c_str());
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
}

std::vector<AlgebraCase> every_property_of(const Algebra& a) {
  std::vector<AlgebraCase> cases;
  for (const Property& p : normalizer_properties()) cases.push_back({&a, &p});
  return cases;
}
const auto kPropertyOfAlgebra = [](const auto& test) { return std::string(test.param.property->name); };
#define ON(prefix, algebra)                                                                   \
  INSTANTIATE_TEST_SUITE_P(prefix, Normalizer, testing::ValuesIn(every_property_of(algebra)), \
                           kPropertyOfAlgebra)
ON(NormalizerHost, host::accurate);
ON(NormalizerHostFast, host::fast);
ON(NormalizerHostF16, host::narrow_f16);
ON(NormalizerHostBf16, host::narrow_bf16);
ON(NormalizerHostFma, host_fma::accurate);
ON(NormalizerHostFmaFast, host_fma::fast);
ON(NormalizerHostFmaF16, host_fma::narrow_f16);
ON(NormalizerHostFmaBf16, host_fma::narrow_bf16);
#if defined(ASSAY_WITH_CUDA)
ON(NormalizerCuda, cuda::accurate);
ON(NormalizerCudaFast, cuda::fast);
ON(NormalizerCudaF16, cuda::narrow_f16);
ON(NormalizerCudaBf16, cuda::narrow_bf16);
#endif
#undef ON

class NormalizerAlgebra : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, NormalizerAlgebra, testing::ValuesIn(select_forms()), kAlgebraName);

/// Every 16-bit value, each with partners of every class.
TEST_P(NormalizerAlgebra, EveryNarrowLeafCommutesWithEveryPartner) {
  const Dtype format = algebra().format;
  std::vector<Pair> partners;
  for (std::uint32_t bits : {0x00000000u, 0x80000000u, 0x00000001u, 0x3f800000u, 0xc1a80001u, 0x42f0fffeu,
                             0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u}) {
    const double x = static_cast<double>(std::bit_cast<float>(bits));
    const Pair leaf = algebra().leaf(static_cast<float>(round_to(format, x)));
    partners.push_back(leaf);
    if (std::isfinite(leaf.m)) partners.push_back({leaf.m, static_cast<float>(exact_count(format) * 0.499)});
  }
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    if (format != Dtype::f32 && format != t) continue;
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) x.push_back(Float{t, bits}.as_float());
    const std::size_t n = x.size();
    std::vector<Pair> leaves(n), other(n), left(n), right(n);
    algebra().leaf_each(x.data(), leaves.data(), n);
    for (const bool identity_first : {true, false}) {
      other.assign(n, Algebra::identity);
      if (identity_first)
        algebra().combine_each(other.data(), leaves.data(), left.data(), n);
      else
        algebra().combine_each(leaves.data(), other.data(), left.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(left[i], leaves[i]))
            << "identity " << (identity_first ? "before " : "after ") << name(t) << " " << std::hex << i;
    }
    for (Pair p : partners) {
      other.assign(n, p);
      algebra().combine_each(leaves.data(), other.data(), left.data(), n);
      algebra().combine_each(other.data(), leaves.data(), right.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(left[i], right[i]))
            << name(t) << " " << std::hex << i << " with " << rc::toString(p);
    }
  }
}

/// exp(t) of every non-positive 16-bit value is at most 1, and exactly 1 at 0. With the tree properties this
/// implies 1 <= d <= j.
TEST_P(NormalizerAlgebra, ExpOfEveryNarrowArgumentIsAtMostOne) {
  const Dtype format = algebra().format;
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    if (format != Dtype::f32 && format != t) continue;
    std::vector<float> x;
    for (std::uint64_t bits = 0x8000; bits <= 0x8000 + assay::format(t).infinity_bits(); ++bits)
      x.push_back(Float{t, bits}.as_float());
    std::vector<float> e(x.size());
    algebra().exp_each(x.data(), e.data(), x.size());
    EXPECT_EQ(e[0], 1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(e[i] >= 0 && e[i] <= 1) << x[i] << " " << e[i];
  }
}

// Tests the properties: each planted fault in ⊕ must lose at least the property named beside it.

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
/// The identity case returns the other side with one term added.
Pair identity_counts(Pair a, Pair b) {
  Pair r = right(a, b);
  if (is_identity(a) != is_identity(b)) r.d += 1;
  return r;
}
Pair no_identity_guard(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  return {a.m, a.d + b.d * std::exp(b.m - a.m) + (a.m - a.m)};
}
Pair guards_one_side_only(Pair a, Pair b) { return b.m == -kInfinity ? a : no_identity_guard(a, b); }
Pair rescale_inverted(Pair a, Pair b) {
  if (!a_is_high(a, b)) std::swap(a, b);
  if (b.m == -kInfinity) return a;
  return {a.m, a.d + b.d * std::exp(a.m - b.m) + (a.m - a.m)};
}
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
/// Rounds to 12 bits. Equal terms hide it, but every order and every tiling of a row differs.
Pair narrow_sum(Pair a, Pair b) {
  Pair r = right(a, b);
  if (std::isfinite(r.d) && !is_identity(a) && !is_identity(b))
    r.d = std::bit_cast<float>(std::bit_cast<std::uint32_t>(r.d) & ~0xfffu);
  return r;
}
/// Adds a little too much once the count is beyond 2^23.
Pair overcounts_late(Pair a, Pair b) {
  Pair r = right(a, b);
  if (r.d > 0x1p23f) r.d = std::nextafter(r.d, kInfinity);
  return r;
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

/// An algebra made of plain functions.
template <Pair (*combine)(Pair, Pair), Pair (*leaf)(float) = right_leaf, float (*exp_of)(float) = right_exp>
constexpr Algebra algebra(const char* name) {
  return {name,
          Backend::host,
          Dtype::f32,
          Exp::accurate,
          [](const float* x, Pair* out, std::size_t n) { std::transform(x, x + n, out, leaf); },
          [](const Pair* a, const Pair* b, Pair* out, std::size_t n) {
            std::transform(a, a + n, b, out, combine);
          },
          [](const float* t, float* out, std::size_t n) { std::transform(t, t + n, out, exp_of); },
          [](const Pair* lanes, Pair* results, std::size_t warps) {
            std::copy_n(lanes, warps * kLanes, results);
            for (Pair* warp = results; warp != results + warps * kLanes; warp += kLanes)
              for (int step = kLanes / 2; step > 0; step /= 2) {
                Pair other[kLanes];
                for (int i = 0; i < kLanes; ++i) other[i] = warp[i ^ step];
                for (int i = 0; i < kLanes; ++i) warp[i] = combine(warp[i], other[i]);
              }
          },
          [](const Forest& f, Pair* values) {
            std::vector<Pair> slots = f.leaves;
            for (std::size_t t = 0, k = 0; t < f.trees(); ++t)
              for (Pair* mine = slots.data() + f.first[t]; k < f.first[t + 1] - (t + 1); ++k)
                values[k] = mine[f.merges[k].left] = combine(mine[f.merges[k].left], mine[f.merges[k].right]);
          },
          [](std::uint32_t n) {
            Pair sum = leaf(3);
            for (std::uint32_t i = 1; i < n; ++i) sum = combine(sum, leaf(3));
            return sum.d;
          }};
}

std::vector<std::string> lost_by(const Algebra& a) {
  std::vector<std::string> lost;
  for (const Property& p : normalizer_properties())
    if (!outcome_of(p, a, false).failure.empty()) lost.push_back(p.name);
  return lost;
}

struct AlgebraMutant {
  Algebra algebra;
  const char* loses;
};

void PrintTo(const AlgebraMutant& m, std::ostream* os) { *os << m.algebra.name; }

const AlgebraMutant kMutants[] = {
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
    {algebra<rescale_inverted>("rescale_inverted"), "between_one_and_count"},
    {algebra<tie_keeps_one_side>("tie_keeps_one_side"), "any_tree_within_bounds"},
    {algebra<identity_counts>("identity_counts"), "minus_infinity_is_absent"},
    {algebra<identity_counts>("identity_counts"), "identity_from_both_sides"},
    {algebra<narrow_sum>("narrow_sum"), "any_order_within_bounds"},
    {algebra<narrow_sum>("narrow_sum"), "any_tiling_within_bounds"},
    {algebra<overcounts_late>("overcounts_late"), "weighted_counts_around_two_to_the_p"},
    {algebra<two_exps_contracted>("two_exps_contracted"), "butterfly_lanes_agree"},
    {algebra<loose_exp_combine, right_leaf, loose_exp>("loose_exp"), "any_tree_within_bounds"},
    {algebra<exp_above_one_combine, right_leaf, exp_above_one>("exp_above_one"), "exp_is_at_most_one"},
    {algebra<right, leaf_counts_minus_infinity>("leaf_counts_minus_infinity"), "leaf_is_x_and_one"},
    {algebra<right, leaf_forgives_infinity>("leaf_forgives_infinity"), "leaf_is_x_and_one"},
};

TEST(NormalizerMutants, WithoutAFaultNothingIsLost) {
  EXPECT_EQ(lost_by(algebra<right>("right")), std::vector<std::string>());
}

class NormalizerMutant : public testing::TestWithParam<AlgebraMutant> {};
INSTANTIATE_TEST_SUITE_P(, NormalizerMutant, testing::ValuesIn(kMutants), [](const auto& test) {
  return std::string(test.param.algebra.name) + "_loses_" + test.param.loses;
});
TEST_P(NormalizerMutant, IsCaught) {
  const AlgebraMutant& m = GetParam();
  for (const Property& p : normalizer_properties())
    if (std::string(p.name) == m.loses) {
      const std::string failure = outcome_of(p, m.algebra, false).failure;
      EXPECT_NE(failure, "") << m.algebra.name << " has " << p.name;
      EXPECT_EQ(failure.find("class of input"), std::string::npos) << failure;
      return;
    }
  FAIL() << "no property " << m.loses;
}

TEST(NormalizerMutants, EveryPropertyIsLostByOne) {
  for (const Property& p : normalizer_properties())
    EXPECT_TRUE(std::any_of(std::begin(kMutants), std::end(kMutants),
                            [&](const AlgebraMutant& m) { return std::string(m.loses) == p.name; }))
        << "no mutant loses " << p.name;
}

}  // namespace
}  // namespace assay
