// SPDX-License-Identifier: Apache-2.0
// The two tiers agree: on rows built to separate them, every enclosure of the fast tier contains the
// narrowest one of MPFR. A fast tier with too narrow enclosures is shown to be caught.
#include "reference/oracle/fast_row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "reference/tensor.hpp"

namespace assay {
namespace {

constexpr double kInfinityOfRow = std::numeric_limits<double>::infinity();

/// Rows of every kind that could separate the tiers. Values are rounded to the dtype afterwards.
enum class Attack {
  normal,
  ranges,
  subnormal,
  two_scales,
  huge,
  near_cut,
  masked,
  ties,
  ramp,
  one_high,
  mixed
};
constexpr Attack kAttacks[] = {Attack::normal, Attack::ranges,   Attack::subnormal, Attack::two_scales,
                               Attack::huge,   Attack::near_cut, Attack::masked,    Attack::ties,
                               Attack::ramp,   Attack::one_high, Attack::mixed};

class Rows {
 public:
  explicit Rows(Dtype t) : t_(t), random_(static_cast<std::uint64_t>(t) + 5) {}
  Tensor row(Attack a, std::int64_t V) {
    Tensor x(t_, 1, V);
    const double base = normal() * 100;
    for (std::int64_t i = 0; i < V; ++i) {
      double v = value(a, i, V, base);
      if (std::isfinite(v)) v = std::clamp(v, -max_finite(t_), max_finite(t_));
      x.set(0, i, v);
    }
    return x;
  }

 private:
  double normal() { return std::normal_distribution<double>()(random_); }
  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random_); }
  double value(Attack a, std::int64_t i, std::int64_t V, double base) {
    switch (a) {
      case Attack::normal:
        return normal();
      case Attack::ranges:  // 700 nats: from 1 to the limit of fp64
        return uniform(-700, 0) + base;
      case Attack::subnormal:  // probabilities around the smallest values of the dtype
        return i == V / 2 ? 0 : uniform(std::log(min_subnormal(t_)) - 4, std::log(min_normal(t_)) + 2);
      case Attack::two_scales:  // x - m needs more than 53 bits
        return i % 3 == 0 ? 300 + normal() : normal() * std::ldexp(1.0, -static_cast<int>(i % 120));
      case Attack::huge:
        return i % 3 == 0 ? max_finite(t_) : i % 3 == 1 ? -max_finite(t_) : max_finite(t_) * uniform(-1, 1);
      case Attack::near_cut:  // both sides of -708
        return i == 0 ? 0 : -708 + normal() * 0.5;
      case Attack::masked:
        return i % 3 == 1 && V > 1 ? -kInfinityOfRow : normal() * 3;
      case Attack::ties:
        return std::round(normal() * 2);
      case Attack::ramp:
        return 1000 + static_cast<double>(i % 5000) * ulp(t_, 1000.0);
      case Attack::one_high:
        return i == V - 1 ? 60 : normal() * 1e-3;
      case Attack::mixed:
        return normal() * std::ldexp(1.0, static_cast<int>(i % 20) - 10);
    }
    return 0;
  }
  Dtype t_;
  std::mt19937_64 random_;
};

/// The exact side of a comparison: MPFR's enclosure is at most two neighbouring doubles wide.
struct Count {
  std::int64_t elements = 0, outside = 0, outside_if_narrow = 0, by_mpfr = 0;
};

/// `inner` shrunk around its middle, like a tier that claimed a smaller error.
bool narrow_contains(double lo, double hi, double x_lo, double x_hi, double factor) {
  const double middle = 0.5 * (lo + hi), half = 0.5 * (hi - lo) * factor;
  return middle - half <= x_lo && x_hi <= middle + half;
}

void compare(const Tensor& x, Count& count) {
  OracleOptions fast;
  fast.tier = Tier::fast;
  const RowTruth f = row_truth(x.dtype, x.row(0), x.V, x.dtype, fast);
  const RowTruth m = row_truth(x.dtype, x.row(0), x.V, x.dtype);
  ASSERT_EQ(f.kind, m.kind);
  ASSERT_EQ(f.order, m.order);
  ASSERT_EQ(f.larger, m.larger);
  ASSERT_EQ(f.rounded, m.rounded);
  ASSERT_EQ(f.lse_rounded, m.lse_rounded);
  ASSERT_EQ(f.finite, m.finite);
  if (m.lo.empty() || m.finite == 0) return;
  ASSERT_EQ(f.m, m.m);
  EXPECT_LE(f.s.lo, m.s.lo);
  EXPECT_GE(f.s.hi, m.s.hi);
  EXPECT_LE(f.lse.lo, m.lse.lo);
  EXPECT_GE(f.lse.hi, m.lse.hi);
  EXPECT_LE(f.s.hi - f.s.lo, f.s.lo * 0x1p-49);
  EXPECT_NEAR(f.weighted_distance, m.weighted_distance, 1e-9 * (1 + m.weighted_distance));
  count.by_mpfr += f.bits != 53;
  for (std::size_t i = 0; i < m.lo.size(); ++i) {
    ++count.elements;
    count.outside += !(f.lo[i] <= m.lo[i] && m.hi[i] <= f.hi[i]);
    if (m.lo[i] > 1e-280)
      count.outside_if_narrow += !narrow_contains(f.lo[i], f.hi[i], m.lo[i], m.hi[i], 0.25);
  }
}

class FastRow : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, FastRow, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(FastRow, ContainsTheFinestEnclosureOfMpfr) {
  Rows rows(GetParam());
  Count count;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::vector<std::int64_t> sizes = {1, 2, 3, 9, 1000};
#else
  const std::vector<std::int64_t> sizes = {1, 2, 3, 7, 8, 9, 33, 1000, 4099, 50257};
#endif
  for (Attack a : kAttacks)
    for (std::int64_t V : sizes)
      for (std::int64_t r = 0; r < (V < 100 ? 100 : V < 10000 ? 4 : 1); ++r) {
        compare(rows.row(a, V), count);
        if (HasFatalFailure()) FAIL() << "attack " << static_cast<int>(a) << ", V = " << V;
      }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  compare(rows.row(Attack::mixed, 1 << 20), count);
  ASSERT_GE(count.elements, 1'000'000);
#endif
  std::printf(
      "%lld elements: %lld outside; a tier a quarter as wide would miss %lld; MPFR was asked for %lld rows\n",
      static_cast<long long>(count.elements), static_cast<long long>(count.outside),
      static_cast<long long>(count.outside_if_narrow), static_cast<long long>(count.by_mpfr));
  EXPECT_EQ(count.outside, 0);
  EXPECT_GT(count.outside_if_narrow, 0) << "the comparison cannot see an enclosure that is too narrow";
}

TEST_P(FastRow, SpecialRowsAreTheSameInBothTiers) {
  const Dtype t = GetParam();
  for (const std::vector<double>& values : {std::vector<double>{},
                                            {0.5},
                                            {-kInfinityOfRow},
                                            {-kInfinityOfRow, -kInfinityOfRow, 1.0},
                                            {kInfinityOfRow, 1.0},
                                            {NAN, 2.0},
                                            {2.0, 2.0, 2.0},
                                            {-kInfinityOfRow, -kInfinityOfRow},
                                            {0.0, -0.0, 0.0}}) {
    Tensor x(t, 1, static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) x.set(0, static_cast<std::int64_t>(i), values[i]);
    Count count;
    compare(x, count);
    EXPECT_EQ(count.outside, 0);
  }
}

/// One MPFR exp with the row's own s: the enclosure is narrower and still contains the exact value.
TEST_P(FastRow, RefinedEnclosuresContainMpfr) {
  Rows rows(GetParam());
  OracleOptions options;
  options.tier = Tier::fast;
  std::int64_t narrower = 0, elements = 0;
  for (Attack a : kAttacks) {
    const Tensor x = rows.row(a, 300);
    RowTruth f = row_truth(x.dtype, x.row(0), x.V, x.dtype, options);
    const RowTruth m = row_truth(x.dtype, x.row(0), x.V, x.dtype);
    for (std::size_t j = 0; j < m.lo.size(); ++j) {
      if (std::isinf(m.d[j])) continue;
      const double before = f.hi[j] - f.lo[j];
      refine(f, j);
      ASSERT_LE(f.lo[j], m.lo[j]) << j;
      ASSERT_GE(f.hi[j], m.hi[j]) << j;
      ++elements;
      narrower += f.hi[j] - f.lo[j] < before;
    }
  }
  EXPECT_GT(narrower, elements / 3) << "of " << elements;
}

TEST(FastRowKernel, IsTheSameOnEveryCpu) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this CPU has no AVX2";
  Rows rows(Dtype::f32);
  for (Attack a : kAttacks)
    for (std::int64_t V : {2, 9, 1003}) {
      const Tensor t = rows.row(a, V);
      std::vector<double> x;
      for (std::int64_t i = 0; i < V; ++i) x.push_back(t.at(0, i));
      const double m = *std::max_element(x.begin(), x.end());
      const auto skip = static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
      std::vector<double> e[2], lo[2], hi[2];
      fast::RowSums s[2];
      int which = 0;
      for (const fast::RowKernel* k : {&fast::generic::kernel, &fast::avx2::kernel}) {
        e[which].resize(x.size());
        lo[which] = hi[which] = e[which];
        s[which] = k->exps(x.data(), x.size(), m, skip, e[which].data());
        k->probabilities(e[which].data(), x.size(), 1 + s[which].hi, lo[which].data(), hi[which].data());
        ++which;
      }
      EXPECT_EQ(e[0], e[1]);
      EXPECT_EQ(lo[0], lo[1]);
      EXPECT_EQ(hi[0], hi[1]);
      EXPECT_EQ(s[0].hi, s[1].hi);
      EXPECT_EQ(s[0].lo, s[1].lo);
      EXPECT_EQ(s[0].weighted, s[1].weighted);
      EXPECT_EQ(s[0].far, s[1].far);
    }
}

}  // namespace
}  // namespace assay
