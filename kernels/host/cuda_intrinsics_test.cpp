// SPDX-License-Identifier: Apache-2.0
// Words that few kernels use, compared with the CUDA guide.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/host/executor_test.hpp"
#include "reference/mpfr_value.hpp"

// These need the name of the backend, defined above.
#include "kernels/host/cuda_core.hpp"
#include "kernels/host/cuda_intrinsics.hpp"

namespace assay::host_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
struct PairOf;
template <>
struct PairOf<__half> {
  using type = __half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using type = __nv_bfloat162;
};

template <class T>
class RareHalf : public testing::Test {};
using Types = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(RareHalf, Types);

TYPED_TEST(RareHalf, MaximaThatKeepANaN) {
  using T = TypeParam;
  using T2 = typename PairOf<T>::type;
  for (const float other : {-kInf, -1.0f, 0.0f, 3.0f, kInf, kNan}) {
    // The forms without _nan drop the NaN.
    EXPECT_EQ(__hmax_nan(T(kNan), T(other)).x, 0x7fff) << other;
    EXPECT_EQ(__hmax_nan(T(other), T(kNan)).x, 0x7fff) << other;
    EXPECT_EQ(__hmin_nan(T(kNan), T(other)).x, 0x7fff) << other;
    EXPECT_EQ(__hmin_nan(T(other), T(kNan)).x, 0x7fff) << other;
    EXPECT_EQ(std::isnan(float(__hmax(T(kNan), T(other)))), std::isnan(other));
  }
  EXPECT_EQ(float(__hmax_nan(T(1.0f), T(2.0f))), 2.0f);
  EXPECT_EQ(float(__hmin_nan(T(1.0f), T(-kInf))), -kInf);
  EXPECT_FALSE(std::signbit(float(__hmax_nan(T(-0.0f), T(0.0f)))));
  EXPECT_TRUE(std::signbit(float(__hmin_nan(T(0.0f), T(-0.0f)))));
  const T2 most = __hmax2_nan(T2{T(1.0f), T(kNan)}, T2{T(3.0f), T(5.0f)});
  EXPECT_EQ(float(most.x), 3.0f);
  EXPECT_EQ(most.y.x, 0x7fff);
  const T2 least = __hmin2_nan(T2{T(1.0f), T(2.0f)}, T2{T(kNan), T(-5.0f)});
  EXPECT_EQ(least.x.x, 0x7fff);
  EXPECT_EQ(float(least.y), -5.0f);
}

TYPED_TEST(RareHalf, ComparisonsOfPairs) {
  using T = TypeParam;
  using T2 = typename PairOf<T>::type;
  const T2 a{T(1.0f), T(2.0f)}, above{T(2.0f), T(3.0f)}, mixed{T(2.0f), T(2.0f)}, holed{T(1.0f), T(kNan)};
  EXPECT_TRUE(__hbgt2(above, a));
  EXPECT_FALSE(__hbgt2(mixed, a));
  EXPECT_TRUE(__hbge2(mixed, a));
  EXPECT_TRUE(__hblt2(a, above));
  EXPECT_TRUE(__hble2(a, mixed));
  EXPECT_TRUE(__hbeq2(a, a));
  EXPECT_TRUE(__hbne2(a, above));
  EXPECT_FALSE(__hbne2(a, mixed));
  // For a NaN, every ordered comparison is false, even "not equal", and every unordered one is true.
  EXPECT_FALSE(__hne(T(kNan), T(1.0f)));
  EXPECT_TRUE(__hneu(T(kNan), T(1.0f)));
  EXPECT_TRUE(T(kNan) != T(1.0f));
  EXPECT_FALSE(__hbeq2(holed, holed));
  EXPECT_FALSE(__hbge2(holed, a));
  EXPECT_TRUE(__hbgeu2(holed, a));
  EXPECT_TRUE(__hbequ2(holed, holed));
  EXPECT_FALSE(__hbneu2(holed, holed));
  EXPECT_EQ(__heq2_mask(mixed, a), 0xffff0000u);
  EXPECT_EQ(__heq2_mask(holed, a), 0x0000ffffu);
  EXPECT_EQ(__hequ2_mask(holed, a), 0xffffffffu);
  const T2 ones = __hgt2(mixed, a);
  EXPECT_EQ(float(ones.x), 1.0f);
  EXPECT_EQ(float(ones.y), 0.0f);
  EXPECT_EQ(float(__hgtu2(holed, a).y), 1.0f);
}

TEST(CudaIntrinsics, DoubleToHalfRoundsOnce) {
  // Above the midpoint of 1 and its f16 neighbour, by less than a float can resolve.
  const double near_tie = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(float(__double2half(near_tie)), 1.0f + 0x1p-10f);
  EXPECT_EQ(float(__half(static_cast<float>(near_tie))), 1.0f) << "rounded twice";
  EXPECT_EQ(float(__double2half(-near_tie)), -1.0f - 0x1p-10f);
  EXPECT_EQ(float(__double2half(1e300)), kInf);
  EXPECT_EQ(__double2half(-1e-300).x, 0x8000);
  EXPECT_EQ(float(__double2bfloat16(1.0 + 0x1p-8 + 0x1p-40)), 1.0f + 0x1p-7f);
}

TEST(CudaIntrinsics, ConversionsSaturate) {
  EXPECT_EQ(__float2uint_rn(2.5f), 2u);
  EXPECT_EQ(__float2uint_rn(3.5f), 4u);
  EXPECT_EQ(__float2uint_ru(2.25f), 3u);
  EXPECT_EQ(__float2uint_rn(-7.0f), 0u);
  EXPECT_EQ(__float2uint_rn(kNan), 0u);
  EXPECT_EQ(__float2uint_rn(0x1p32f), 0xffffffffu);
  EXPECT_EQ(__float2int_rd(-2.5f), -3);
  EXPECT_EQ(__float2int_rz(-2.5f), -2);
  EXPECT_EQ(__float2int_rn(0x1p31f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-kInf), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2ll_rn(kNan), std::numeric_limits<long long>::min());
  EXPECT_EQ(__double2ull_rz(0x1p63), 0x8000000000000000ull);
  EXPECT_EQ(__double2int_rn(2147483646.5), 2147483646);
}

TEST(CudaIntrinsics, DoubleArithmetic) {
  EXPECT_EQ(__dadd_rn(1.0, 0x1p-53), 1.0);
  EXPECT_EQ(__dsub_rn(1.0, 0x1p-53), 1.0 - 0x1p-53);
  EXPECT_EQ(__dmul_rn(1.0 + 0x1p-30, 1.0 - 0x1p-30), 1.0);
  EXPECT_EQ(__fma_rn(1.0 + 0x1p-30, 1.0 - 0x1p-30, -1.0), -0x1p-60);
  EXPECT_EQ(__ddiv_rn(1.0, 3.0), 1.0 / 3.0);
}

TEST(CudaIntrinsics, Bits) {
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x3210), 0x33221100u);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7531), 0x77553311u);
  // The high bit of a nibble is ignored.
  EXPECT_EQ(__byte_perm(0x33221180u, 0x77665544u, 0xfff8), 0x77777780u);
  EXPECT_EQ(__funnelshift_l(0x80000001u, 0x7u, 4), 0x78u);
  EXPECT_EQ(__funnelshift_r(0x10u, 0x7u, 4), 0x70000001u);
  EXPECT_EQ(__funnelshift_l(1u, 2u, 32), 2u);
  EXPECT_EQ(__funnelshift_r(1u, 2u, 32), 1u);
  EXPECT_EQ(__funnelshift_lc(1u, 2u, 40), 1u);
  EXPECT_EQ(__funnelshift_rc(1u, 2u, 40), 2u);
}

TEST(CudaIntrinsics, NthSetBit) {
  std::mt19937 random(1);
  for (int n = 0; n < 2000; ++n) {
    const unsigned mask = static_cast<unsigned>(random() & random()), base = random() % 32;
    std::vector<unsigned> up, down;
    for (unsigned b = base; b < 32; ++b)
      if (mask >> b & 1u) up.push_back(b);
    for (unsigned b = base + 1; b-- > 0;)
      if (mask >> b & 1u) down.push_back(b);
    EXPECT_EQ(__fns(mask, base, 0), mask >> base & 1u ? base : ~0u);
    for (int k = 1; k < 34; ++k) {
      const auto i = static_cast<std::size_t>(k - 1);
      EXPECT_EQ(__fns(mask, base, k), i < up.size() ? up[i] : ~0u) << mask << " " << base << " " << k;
      EXPECT_EQ(__fns(mask, base, -k), i < down.size() ? down[i] : ~0u) << mask << " " << base << " " << -k;
    }
  }
}

TEST(CudaIntrinsics, AMaximumLeavesOutNan) {
  for (const float nan :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()}) {
    EXPECT_EQ(fmaxf(nan, -1.0f), -1.0f);
    EXPECT_EQ(fmaxf(-1.0f, nan), -1.0f);
    EXPECT_EQ(fminf(nan, -1.0f), -1.0f);
    EXPECT_EQ(max(-1.0f, nan), -1.0f);
    EXPECT_TRUE(std::isnan(fmaxf(nan, nan)));
  }
  EXPECT_EQ(fmaxf(2.0f, 3.0f), 3.0f);
  EXPECT_EQ(fminf(2.0f, 3.0f), 2.0f);
}

TEST(CudaIntrinsics, InAKernel) {
  unsigned total = 0, block = 0, wrong = 0;
  launch(dim3(2), dim3(8, 4), [&] {
    const uint3 t = threadIdx;
    const dim3 back = t;
    const long long begin = clock64();
    if (t.x != threadIdx.x || t.y != back.y || make_uint3(1, 2, 3).z != 3) atomicAdd(&wrong, 1u);
    atomicAdd_system(&total, 1u);
    atomicMax_block(&block, t.y * 8 + t.x);
    if (clock64() <= begin) atomicAdd(&wrong, 1u);
  });
  EXPECT_EQ(total, 64u);
  EXPECT_EQ(block, 31u);
  EXPECT_EQ(wrong, 0u);
}

// The exponentials that host kernels call, compared with the error that accuracy/bounds/bounds.cpp grants
// them. A double exponential decides, except for arguments close to a limit: those are decided by MPFR.

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
