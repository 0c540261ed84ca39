// SPDX-License-Identifier: Apache-2.0
// The exponentials that host kernels call, compared with the error that accuracy/bounds/bounds.cpp grants
// them. A double exponential decides, except for arguments close to a limit: those are decided by MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/mpfr_value.hpp"

#define ASSAY_BACKEND host_test
#include "kernels/host/cuda_core.hpp"

namespace assay::host_test {
namespace {

constexpr double kU = 0x1p-24;
constexpr float kMinNormal = 0x1p-126f;

/// got - exp(x)| / unit, rounded up. The unit is exp(x) itself if `relative`, else 1.
double exact_error(float x, float got, bool relative) {
  free_mpfr_cache_at_thread_exit();
  MpfrValue e(120), d(120);
  mpfr_set_d(e, static_cast<double>(x), MPFR_RNDN);
  mpfr_exp(e, e, MPFR_RNDN);
  mpfr_sub_d(d, e, static_cast<double>(got), MPFR_RNDU);
  mpfr_abs(d, d, MPFR_RNDU);
  if (relative) mpfr_div(d, d, e, MPFR_RNDU);
  return mpfr_get_d(d, MPFR_RNDU);
}

/// Visits the arguments at which an exponential is worst or changes branch, then the bit patterns of
/// [-104, 89] in an odd stride. These are more than 2^22 arguments; every exponent and every pattern of low
/// bits is among them.
template <class F>
std::int64_t for_each_argument(F visit) {
  std::int64_t count = 0;
  const auto both_sides = [&](double centre) {
    auto x = static_cast<float>(centre);
    for (int i = 0; i < 4; ++i) x = std::nextafterf(x, -HUGE_VALF);
    for (int i = 0; i < 9; ++i, x = std::nextafterf(x, HUGE_VALF)) visit(x), ++count;
  };
  for (int k = -104 * 64; k <= 89 * 64; ++k) {
    both_sides(k / 64.0);  // exact arguments
    both_sides(k * 0x1.62e42fefa39efp-1 /
               64);  // multiples of ln 2 / 64: ends of table intervals, powers of two
    both_sides((k + 0.5) * 0x1.62e42fefa39efp-1 / 32);
  }
  for (int e = -149; e <= 6; ++e)
    for (double s : {1.0, -1.0, 1.5, -1.5}) both_sides(s * std::ldexp(1.0, e));
  // The last arguments whose result is finite, normal, subnormal and non-zero.
  for (double edge : {88.72283935546875, -87.33654475, -87.3365478515625, -103.97207708, -103.2789})
    both_sides(edge);
  for (std::uint32_t b = 0; b <= std::bit_cast<std::uint32_t>(104.0f); b += 499) {
    const float x = std::bit_cast<float>(b);
    visit(-x), ++count;
    if (x <= 89) visit(x), ++count;
  }
  return count;
}

TEST(Expf, StaysWithinTheGrantedError) {
  // bounds.cpp, for k = 0.01: relative (2 k + 1) u, and absolute (2 k + 1) halves of the smallest subnormal.
  constexpr double kLimit = 1.02;
  double worst = 0, worst_tiny = 0;
  std::int64_t suspicious = 0;
  const std::int64_t arguments = for_each_argument([&](float x) {
    const float got = expf(x);
    const double e = std::exp(static_cast<double>(x));
    if (e >= 0x1.ffffffp127) {  // rounds to infinity
      ASSERT_GE(got, std::numeric_limits<float>::max());
      return;
    }
    const bool normal = e >= static_cast<double>(kMinNormal);
    const double unit = normal ? e * kU : 0x1p-150;
    double error = std::fabs(static_cast<double>(got) - e) / unit;
    // The double exponential is within 2^-52 of the exact value, which is 2^-28 of these units.
    if (!(error < kLimit - 0x1p-20)) {
      ++suspicious;
      error = exact_error(x, got, normal) / (normal ? kU : 0x1p-150);
    }
    ASSERT_LT(error, kLimit) << std::hexfloat << x << " gives " << got;
    double& most = normal ? worst : worst_tiny;
    most = std::max(most, error);
  });
  EXPECT_GE(arguments, std::int64_t{1} << 22);
  // glibc's expf comes this close to one unit, so the comparison does measure something.
  EXPECT_GT(worst, 0.99);
  EXPECT_GT(worst_tiny, 0.99);
  RecordProperty("worst_u", std::to_string(worst));
  RecordProperty("worst_subnormal_half_units", std::to_string(worst_tiny));
  RecordProperty("decided_by_mpfr", std::to_string(suspicious));
}

TEST(Expf, FastFormStaysWithinItsBound) {
  double worst = 0;
  for_each_argument([&](float x) {
    const double e = std::exp(static_cast<double>(x));
    if (e >= 0x1.fp127) return;
    const float got = __expf(x);
    // A normal result may be off by 2 + 1.173 |x| ulp. For a subnormal one, the last rounding's unit is
    // absolute.
    const double slope = 2.346 * std::fabs(static_cast<double>(x));
    const double limit =
        e >= static_cast<double>(kMinNormal) ? (5 + slope) * kU * e : slope * kU * e + 5 * 0x1p-150;
    double error = std::fabs(static_cast<double>(got) - e);
    if (!(error < limit * (1 - 0x1p-20))) error = exact_error(x, got, false);
    ASSERT_LT(error, limit) << std::hexfloat << x << " gives " << got;
    worst = std::max(worst, error / limit);
  });
  EXPECT_GT(worst, 0.3) << "the bound is far from what is measured";
}

TEST(Expf, StaysBetweenZeroAndOneBelowZero) {
  for_each_argument([](float t) {
    if (t > 0) return;
    const float accurate = expf(t), fast = __expf(t);
    ASSERT_TRUE(accurate >= 0 && accurate <= 1) << std::hexfloat << t;
    ASSERT_TRUE(fast >= 0 && fast <= 1) << std::hexfloat << t;
  });
  const float inf = std::numeric_limits<float>::infinity();
  for (float (*f)(float) : {+[](float x) { return expf(x); }, +[](float x) { return __expf(x); }}) {
    EXPECT_EQ(f(0.0f), 1.0f);
    EXPECT_EQ(f(-0.0f), 1.0f);
    EXPECT_EQ(f(-inf), 0.0f);
    EXPECT_FALSE(std::signbit(f(-inf)));
    EXPECT_EQ(f(std::numeric_limits<float>::lowest()), 0.0f);
    EXPECT_EQ(f(inf), inf);
    EXPECT_TRUE(std::isnan(f(std::numeric_limits<float>::quiet_NaN())));
  }
}

}  // namespace
}  // namespace assay::host_test
