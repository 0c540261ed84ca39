// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 of the host build, compared with exact sums and with MPFR. Conversions and one-argument
// functions are tested exhaustively, the other operations on structured and random operands.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "reference/formats.hpp"
#include "reference/mpfr_value.hpp"

#define ASSAY_BACKEND host_test
#include "kernels/host/cuda_core.hpp"

namespace assay::host_test {
namespace {

template <class T>
constexpr Dtype kDtype = std::is_same_v<T, __half> ? Dtype::f16 : Dtype::bf16;

template <class T>
T of_bits(std::uint64_t b) {
  T h;
  h.x = static_cast<std::uint16_t>(b);
  return h;
}
template <class T>
bool is_nan(T h) {
  return is_nan_bits(kDtype<T>, h.x);
}
template <class T>
bool is_finite(T h) {
  return std::isfinite(decode(kDtype<T>, h.x));
}

/// The bits of the exact value of `v`, rounded once. A zero keeps its sign.
std::uint64_t rounded(Dtype t, mpfr_srcptr v) {
  const std::uint64_t sign = mpfr_signbit(v) ? format(t).sign_mask() : 0;
  if (mpfr_zero_p(v)) return sign;
  if (mpfr_inf_p(v)) return sign | format(t).infinity_bits();
  return round_bits(t, v);
}

template <class T>
class Half : public testing::Test {};
struct Names {
  template <class T>
  static std::string GetName(int) {
    return name(kDtype<T>);
  }
};
using Types = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(Half, Types, Names);

TYPED_TEST(Half, EveryValueToFloatAndBack) {
  using T = TypeParam;
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const T h = of_bits<T>(b);
    const float f = h;
    if (is_nan(h)) {
      ASSERT_TRUE(std::isnan(f)) << b;
      ASSERT_TRUE(__hisnan(h)) << b;
      ASSERT_EQ(T(f).x, 0x7fff) << "CUDA's canonical NaN";
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(f)),
              std::bit_cast<std::uint64_t>(decode(kDtype<T>, b)))
        << b;
    ASSERT_EQ(T(f).x, b);
    ASSERT_EQ(__hneg(h).x, b ^ 0x8000) << b;
  }
}

template <class T>
void expect_conversion(float f) {
  if (std::isnan(f)) {
    ASSERT_EQ(T(f).x, 0x7fff);
  } else {
    ASSERT_EQ(T(f).x, encode(kDtype<T>, static_cast<double>(f))) << std::hexfloat << f;
  }
}

TYPED_TEST(Half, FloatsAreRoundedOnce) {
  using T = TypeParam;
  // An odd stride visits every exponent and every pattern of low bits.
  std::uint32_t b = 0;
  do {
    ASSERT_NO_FATAL_FAILURE(expect_conversion<T>(std::bit_cast<float>(b)));
    b += 4099;
  } while (b >= 4099);
  // Midpoints between neighbours are exact floats. These are the ties; the floats next to them are tested,
  // too.
  for (std::uint64_t bits = 0; bits < format(kDtype<T>).infinity_bits(); ++bits) {
    const double low = decode(kDtype<T>, bits);
    const double high = low + ulp(kDtype<T>, low);  // for the largest value: 2^(emax + 1)
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    for (float f : {middle, std::nextafterf(middle, 0), std::nextafterf(middle, HUGE_VALF)})
      for (float s : {f, -f}) ASSERT_NO_FATAL_FAILURE(expect_conversion<T>(s));
  }
}

/// Compares every finite argument with the MPFR function. Its 160 bits are far more than any near-tie of a
/// 16-bit argument needs. The exception is next to 1: there, rounding 1 + tiny to 1 first changes nothing.
template <class T, class Candidate, class Exact>
void expect_exhaustive(const char* what, Candidate candidate, Exact exact) {
  MpfrValue x(24), y(160);
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const T h = of_bits<T>(b);
    if (is_nan(h)) {
      ASSERT_TRUE(is_nan(candidate(h))) << what;
      continue;
    }
    mpfr_set_d(x, decode(kDtype<T>, b), MPFR_RNDN);
    exact(y, x, MPFR_RNDN);
    if (mpfr_nan_p(y)) {
      ASSERT_TRUE(is_nan(candidate(h))) << what << " " << b;
    } else {
      ASSERT_EQ(candidate(h).x, rounded(kDtype<T>, y)) << what << " of pattern " << b;
    }
  }
}

TYPED_TEST(Half, FunctionsAreCorrectlyRounded) {
  using T = TypeParam;
  expect_exhaustive<T>(
      "hexp", [](T h) { return hexp(h); }, mpfr_exp);
  expect_exhaustive<T>(
      "hexp2", [](T h) { return hexp2(h); }, mpfr_exp2);
  expect_exhaustive<T>(
      "hlog", [](T h) { return hlog(h); }, mpfr_log);
  expect_exhaustive<T>(
      "hrcp", [](T h) { return hrcp(h); },
      [](mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_ui_div(y, 1, x, r); });
}

/// Finite operands: uniform bit patterns, and partners close enough for cancellation and for near-ties.
template <class T>
class Operands {
 public:
  T any() {
    for (;;)
      if (const T h = of_bits<T>(random_()); is_finite(h)) return h;
  }
  /// A value within a few ulps, or a few binades, of x in magnitude.
  T near(T x) {
    const int mantissa = format(kDtype<T>).mantissa_bits();
    const auto few = static_cast<int>(random_() % 15) - 7;
    const int step =
        random_() % 2 ? few : (few * 2 << mantissa) + static_cast<int>(random_() >> (64 - mantissa));
    const int magnitude =
        std::abs((x.x & 0x7fff) + step) % static_cast<int>(format(kDtype<T>).infinity_bits());
    return of_bits<T>(static_cast<std::uint64_t>(magnitude) | (random_() & 0x8000));
  }
  T next(T x) { return random_() % 2 ? any() : near(x); }

 private:
  std::mt19937_64 random_{7};
};

template <class T>
void expect_operations(T a, T b, T c, MpfrValue& x, MpfrValue& y, MpfrValue& z, MpfrValue& r) {
  constexpr Dtype t = kDtype<T>;
  mpfr_set_d(x, decode(t, a.x), MPFR_RNDN);
  mpfr_set_d(y, decode(t, b.x), MPFR_RNDN);
  mpfr_set_d(z, decode(t, c.x), MPFR_RNDN);
  mpfr_add(r, x, y, MPFR_RNDN);
  ASSERT_EQ(__hadd(a, b).x, rounded(t, r)) << a.x << " + " << b.x;
  mpfr_sub(r, x, y, MPFR_RNDN);
  ASSERT_EQ(__hsub(a, b).x, rounded(t, r)) << a.x << " - " << b.x;
  mpfr_mul(r, x, y, MPFR_RNDN);
  ASSERT_EQ(__hmul(a, b).x, rounded(t, r)) << a.x << " * " << b.x;
  mpfr_fma(r, x, y, z, MPFR_RNDN);
  ASSERT_EQ(__hfma(a, b, c).x, rounded(t, r)) << a.x << " * " << b.x << " + " << c.x;
  mpfr_div(r, x, y, MPFR_RNDN);
  if (mpfr_nan_p(r))
    ASSERT_TRUE(is_nan(__hdiv(a, b)));
  else
    ASSERT_EQ(__hdiv(a, b).x, rounded(t, r)) << a.x << " / " << b.x;
}

TYPED_TEST(Half, OperationsAgainstMpfr) {
  using T = TypeParam;
  // 600 bits hold every sum of products exactly (2^-266 to 2^256). A quotient of two 11-bit integers is
  // farther from a tie than 600 bits resolve.
  MpfrValue x(24), y(24), z(24), r(600);
  Operands<T> operands;
  for (int i = 0; i < 500000; ++i) {
    const T a = operands.any(), b = operands.next(a);
    const T product = __hmul(a, b);
    // Close to the product, so that the low bits of the sum decide.
    const T c = is_finite(product) ? operands.next(product) : operands.any();
    ASSERT_NO_FATAL_FAILURE(expect_operations(a, b, c, x, y, z, r));
  }
  const std::uint32_t inf = static_cast<std::uint32_t>(format(kDtype<T>).infinity_bits());
  const std::uint32_t one = static_cast<std::uint32_t>(encode(kDtype<T>, 1.0));
  const std::uint32_t normal = 1u << format(kDtype<T>).mantissa_bits();
  std::vector<T> edges;
  for (std::uint32_t b : {0u, 1u, 2u, 3u, normal - 1, normal, normal + 1, one - 1, one, one + 1, one + normal,
                          inf - 2, inf - 1})
    for (std::uint32_t sign : {0u, 0x8000u}) edges.push_back(of_bits<T>(b | sign));
  for (T a : edges)
    for (T b : edges)
      for (T c : edges) ASSERT_NO_FATAL_FAILURE(expect_operations(a, b, c, x, y, z, r));
}

TYPED_TEST(Half, OperationsAgainstDouble) {
  using T = TypeParam;
  constexpr Dtype t = kDtype<T>;
  Operands<T> operands;
  for (int i = 0; i < 3000000; ++i) {
    const T a = operands.any(), b = operands.next(a);
    const double x = decode(t, a.x), y = decode(t, b.x);
    // The double result is exact, or rounded to more than 2 p + 2 bits. That changes no second rounding.
    ASSERT_EQ(__hadd(a, b).x, encode(t, x + y)) << a.x << " " << b.x;
    ASSERT_EQ(__hsub(a, b).x, encode(t, x - y)) << a.x << " " << b.x;
    ASSERT_EQ(__hmul(a, b).x, encode(t, x * y)) << a.x << " " << b.x;
    if (y != 0) {
      ASSERT_EQ(__hdiv(a, b).x, encode(t, x / y)) << a.x << " " << b.x;
    }
    ASSERT_EQ(__hlt(a, b), x < y);
    ASSERT_EQ(__hle(a, b), x <= y);
    ASSERT_EQ(__hgt(a, b), x > y);
    ASSERT_EQ(__hge(a, b), x >= y);
    ASSERT_EQ(__heq(a, b), x == y);
    ASSERT_EQ(decode(t, __hmax(a, b).x), std::max(x, y));
    ASSERT_EQ(decode(t, __hmin(a, b).x), std::min(x, y));
  }
}

TYPED_TEST(Half, Specials) {
  using T = TypeParam;
  const float inf = std::numeric_limits<float>::infinity();
  const T nan = std::numeric_limits<float>::quiet_NaN(), plus = inf, minus = -inf, zero = 0.0f,
          negative = -0.0f, one = 1.0f;
  const auto largest = of_bits<T>(format(kDtype<T>).infinity_bits() - 1);
  EXPECT_TRUE(is_nan(__hadd(plus, minus)));
  EXPECT_TRUE(is_nan(__hsub(plus, plus)));
  EXPECT_TRUE(is_nan(__hmul(plus, zero)));
  EXPECT_TRUE(is_nan(__hdiv(zero, zero)));
  EXPECT_TRUE(is_nan(__hdiv(plus, minus)));
  EXPECT_TRUE(is_nan(__hfma(plus, one, minus)));
  EXPECT_TRUE(is_nan(__hfma(zero, plus, one)));
  EXPECT_TRUE(is_nan(__hadd(nan, one)));
  EXPECT_TRUE(is_nan(__hfma(one, one, nan)));
  EXPECT_EQ(__hadd(largest, largest).x, plus.x);
  EXPECT_EQ(__hmul(largest, __hneg(largest)).x, minus.x);
  EXPECT_EQ(__hfma(largest, largest, minus).x, minus.x);
  EXPECT_EQ(__hdiv(one, negative).x, minus.x);
  EXPECT_EQ(__hadd(zero, negative).x, zero.x);
  EXPECT_EQ(__hadd(negative, negative).x, negative.x);
  EXPECT_EQ(__hfma(negative, one, negative).x, negative.x);
  // The maximum drops a NaN and takes +0 over -0.
  EXPECT_EQ(__hmax(nan, one).x, one.x);
  EXPECT_EQ(__hmin(minus, nan).x, minus.x);
  EXPECT_TRUE(is_nan(__hmax(nan, nan)));
  // All bits of the exponent, and one of the fraction below the quiet bit.
  const auto signalling = of_bits<T>(format(kDtype<T>).infinity_bits() | 1);
  EXPECT_EQ(__hmax(signalling, one).x, one.x);
  EXPECT_EQ(__hmax(one, signalling).x, one.x);
  EXPECT_EQ(__hmin(signalling, minus).x, minus.x);
  EXPECT_EQ(__hmin(minus, signalling).x, minus.x);
  EXPECT_TRUE(is_nan(__hmax(signalling, nan)));
  EXPECT_EQ(__hmax(zero, negative).x, zero.x);
  EXPECT_EQ(__hmax(negative, zero).x, zero.x);
  EXPECT_EQ(__hmin(zero, negative).x, negative.x);
  EXPECT_EQ(__hmin(negative, zero).x, negative.x);
  EXPECT_FALSE(__heq(nan, nan) || __hlt(nan, one) || __hge(nan, one));
  EXPECT_EQ(hexp(minus).x, zero.x);
  EXPECT_EQ(hexp(plus).x, plus.x);
  EXPECT_EQ(hexp(negative).x, one.x);
}

}  // namespace
}  // namespace assay::host_test
