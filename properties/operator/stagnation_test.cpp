// SPDX-License-Identifier: Apache-2.0
// Where ⊕ stops counting, in every format and backend, serially and for the trees of kernels, and what
// happens to 1 <= d <= j there. Also why kernels use the select form: the textbook's two-exp form fails under
// FMA.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>

#include "properties/float_generators.hpp"
#include "properties/operator/on_algebra_test.hpp"
#include "properties/pair_generators.hpp"
#include "properties/reduction_tree.hpp"

namespace assay {
namespace {

class Stagnation : public OnAlgebra {
 protected:
  std::uint32_t limit() const { return static_cast<std::uint32_t>(exact_count(algebra().format)); }
  /// d of n equal leaves, by the tree.
  float d_of_ones(Tree tree, std::size_t n) const {
    const std::vector<Pair> leaves(n, algebra().leaf(3.0f));
    return values_of(algebra(), leaves, merges_of(tree, n)).back().d;
  }
};
INSTANTIATE_TEST_SUITE_P(, Stagnation, testing::ValuesIn(select_forms()), kAlgebraName);

/// The count is exact up to 2048 in f16, 256 in bf16 and 16777216 in f32, and does not grow beyond.
TEST_P(Stagnation, SerialCountOfOnesSticksAtTwoToThePrecision) {
  const std::uint32_t p = limit();
  const double expected = algebra().format == Dtype::f16    ? 2048
                          : algebra().format == Dtype::bf16 ? 256
                                                            : 0x1p24;
  EXPECT_EQ(static_cast<double>(p), expected);
  EXPECT_EQ(algebra().serial_ones(p - 1), static_cast<float>(p - 1));
  EXPECT_EQ(algebra().serial_ones(p), static_cast<float>(p));
  EXPECT_EQ(algebra().serial_ones(p + 1), static_cast<float>(p)) << "it counts on";
  EXPECT_EQ(algebra().serial_ones(p + p / 2), static_cast<float>(p)) << "it counts on";
  std::printf("%s: a serial count of ones sticks at %u: 1.5 times as many terms still give %u\n",
              name_of(algebra()).c_str(), p, p);
}

/// Equal halves double exactly, so a balanced tree of ones never stagnates; one leaf more is lost all the
/// same. A kernel's tree (serial slices, then pairwise) stagnates only where a slice does.
TEST_P(Stagnation, TreesCountOnWhereTheSerialSumSticks) {
  Pair ones = algebra().leaf(3.0f);
  for (std::uint32_t n = 1; n < limit(); n *= 2) ones = algebra().combine(ones, ones);
  EXPECT_EQ(ones.d, static_cast<float>(limit()));
  EXPECT_EQ(algebra().combine(ones, algebra().leaf(3.0f)).d, ones.d) << "2^p + 1 is no value of the format";
  EXPECT_EQ(algebra().combine(ones, ones).d, 2 * ones.d) << "a balanced tree counts on";
  if (algebra().format == Dtype::f32) return;  // 2^24 leaves; the rest needs a multiple of that
  const std::size_t n = 4 * limit();
  const float left = d_of_ones({Shape::left}, n), right = d_of_ones({Shape::right}, n);
  const float balanced = d_of_ones({Shape::balanced}, n), strided = d_of_ones({Shape::strided}, n);
  float least = balanced, most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const float d = d_of_ones({Shape::skewed, seed}, n);
    least = std::min(least, d);
    most = std::max(most, d);
  }
  std::printf("%s, %zu ones: left %g, right %g, balanced %g, strided %g, 20 skewed trees %g to %g\n",
              name_of(algebra()).c_str(), n, static_cast<double>(left), static_cast<double>(right),
              static_cast<double>(balanced), static_cast<double>(strided), static_cast<double>(least),
              static_cast<double>(most));
  EXPECT_EQ(left, static_cast<float>(limit()));
  EXPECT_EQ(right, static_cast<float>(limit()));
  EXPECT_EQ(balanced, static_cast<float>(n));
  EXPECT_EQ(strided, static_cast<float>(n)) << "slices of 2^p / 8 ones do not stick";
  EXPECT_LT(least, static_cast<float>(n)) << "no skewed tree stuck";
  // 64 times 2^p leaves make slices of twice 2^p: now every slice stagnates.
  if (algebra().format == Dtype::bf16) {
    EXPECT_EQ(d_of_ones({Shape::strided}, 64 * limit()), 32 * static_cast<float>(limit()));
  }
}

/// d <= j ends at 2^p: the sum of two odd halves rounds up beyond the number of terms.
TEST_P(Stagnation, RoundingMayPassTheNumberOfTermsBeyondTwoToThePrecision) {
  const float half = static_cast<float>(limit()) / 2;
  const float a = half + 1, b = half + 2;  // their sum needs p + 1 bits and is rounded up to even
  const float d = algebra().combine({3, a}, {3, b}).d;
  EXPECT_EQ(d, 2 * half + 4) << "of " << a << " + " << b << " terms";
  EXPECT_GT(d, a + static_cast<double>(b));
}

/// Number of pairs x, y among `tries` for which x ⊕ y and y ⊕ x differ, and the first of them.
int count_differing(const Algebra& a, int tries, std::string& first) {
  const auto gen = pairs(2, Carrier::counts, a.format);
  rc::Random random(1);
  std::vector<Pair> x, y, xy(static_cast<std::size_t>(tries)), yx(xy);
  for (int i = 0; i < tries; ++i) {
    const auto v = gen(random.split(), 100).value();
    x.push_back(v[0]);
    y.push_back(v[1]);
  }
  a.combine_each(x.data(), y.data(), xy.data(), x.size());
  a.combine_each(y.data(), x.data(), yx.data(), x.size());
  int differing = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(xy[i], yx[i]) && ++differing == 1)
      first = rc::toString(x[i]) + " and " + rc::toString(y[i]) + " give " + rc::toString(xy[i]) + " and " +
              rc::toString(yx[i]);
  return differing;
}

/// Number of warps whose lanes do not all hold the same after the butterfly. Each lane starts with the
/// partial sum of a slice.
int count_torn(const Algebra& a, int warps) {
  Draw draw{rc::Random(2)};
  const auto rounded = [&](double x) { return static_cast<float>(round_to(a.format, x)); };
  std::vector<Pair> in, out(static_cast<std::size_t>(warps) * kLanes);
  for (std::size_t i = 0; i < out.size(); ++i)
    in.push_back({rounded(draw.between(0, 2)), rounded(draw.between(1, 100))});
  a.butterfly_each(in.data(), out.data(), static_cast<std::size_t>(warps));
  int torn = 0;
  for (auto warp = out.begin(); warp != out.end(); warp += kLanes)
    torn += std::any_of(warp, warp + kLanes, [&](Pair p) { return !same(p, *warp); });
  return torn;
}

constexpr int kPairs = 20000, kWarps = 1000;

class SelectForm : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, SelectForm, testing::ValuesIn(select_forms()), kAlgebraName);
TEST_P(SelectForm, CommutesAndLanesAgreeWhateverIsContracted) {
  std::string first;
  EXPECT_EQ(count_differing(algebra(), kPairs, first), 0) << first;
  EXPECT_EQ(count_torn(algebra(), kWarps), 0);
}

class SymmetricForm : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, SymmetricForm, testing::ValuesIn(symmetric_forms()), kAlgebraName);
TEST_P(SymmetricForm, CommutesOnlyWhereNothingIsContracted) {
  std::string first;
  const int differing = count_differing(algebra(), kPairs, first);
  const int torn = count_torn(algebra(), kWarps);
  std::printf(
      "two-exp form on %s: %d of %d pairs differ from their mirror image, the lanes of %d of %d warps"
      " disagree on d%s%s\n",
      name(algebra().backend), differing, kPairs, torn, kWarps, first.empty() ? "" : "\n  ", first.c_str());
  if (algebra().backend == Backend::host) {
    EXPECT_EQ(differing, 0) << first;
    EXPECT_EQ(torn, 0);
  } else {
    EXPECT_GT(differing, kPairs / 200) << "the symmetric form was not contracted";
    EXPECT_GT(torn, kWarps / 10);
  }
}

}  // namespace
}  // namespace assay
