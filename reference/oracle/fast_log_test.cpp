// SPDX-License-Identifier: Apache-2.0
// Compares the fast tier's log and exp2 with MPFR: adversarial arguments, then random ones.
#include "reference/oracle/fast_log.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/mpfr_value.hpp"
#include "reference/oracle/fast_exp2.hpp"

namespace assay {
namespace {

using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/// |got / f(x) - 1|, rounded up; 0 if both are 0.
double relative_error(MpfrFunction f, double x, double got) {
  thread_local MpfrValue exact(110), difference(110);
  mpfr_set_d(exact, x, MPFR_RNDN);
  f(exact, exact, MPFR_RNDN);
  if (mpfr_zero_p(exact)) return got == 0 ? 0 : HUGE_VAL;
  mpfr_d_sub(difference, got, exact, MPFR_RNDA);
  mpfr_div(difference, difference, exact, MPFR_RNDA);
  return std::fabs(mpfr_get_d(difference, MPFR_RNDA));
}

std::uint32_t random_bits(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>((z ^ z >> 27) >> 20);
}

struct Search {
  double worst = 0, at = 0;
  std::int64_t arguments = 0;
  template <class F>
  void look(MpfrFunction exact, F f, double x) {
    const double e = relative_error(exact, x, f(x));
    ++arguments;
    if (!(e <= worst)) worst = e, at = x;
  }
};

TEST(FastLog, StaysWithinItsBound) {
  Search s;
  const auto look = [&s](float x) {
    if (x > 0 && std::isfinite(x))
      s.look(
          mpfr_log, [](double v) { return fast::log(v); }, static_cast<double>(x));
  };
  // Every number next to 1, where the result vanishes; both sides of every change of n; the ends of every
  // binade.
  for (std::uint32_t i = 0; i < 20000; ++i) {
    look(std::bit_cast<float>(0x3f800000u + i));
    look(std::bit_cast<float>(0x3f800000u - i));
  }
  for (std::uint32_t e = 0; e < 255; ++e)
    for (std::uint32_t m : {0u, 1u, 2u, 0x3504f2u, 0x3504f3u, 0x3504f4u, 0x400000u, 0x7ffffeu, 0x7fffffu})
      look(std::bit_cast<float>(e << 23 | m));
  for (std::uint32_t b = 1; b < 0x800000; b = b * 2 + 1) look(std::bit_cast<float>(b));  // subnormals
  for (std::uint64_t i = 0; i < 300000; ++i) look(std::bit_cast<float>(random_bits(i) & 0x7fffffff));
  for (std::uint64_t i = 0; i < 300000; ++i)  // around 1, where only s is left
    look(std::bit_cast<float>(0x3f000000u + (random_bits(i) & 0xffffff)));
  std::printf("%lld arguments: largest relative error %.4f of the bound, at %a\n",
              static_cast<long long>(s.arguments), s.worst / fast::kLogError, s.at);
  EXPECT_LE(s.worst, fast::kLogError);
  EXPECT_GE(s.worst, 0.3 * fast::kLogError) << "the bound is looser than it need be, or the search too tame";
  EXPECT_EQ(fast::log(1), 0);
}

TEST(FastExp2, StaysWithinItsBound) {
  Search s;
  const auto look = [&s](double x) {
    s.look(
        mpfr_exp2, [](double v) { return fast::exp2(v); }, x);
  };
  for (int n = -1020; n <= 1020; ++n) {
    EXPECT_EQ(fast::exp2(n), std::ldexp(1.0, n));  // exact
    for (double f : {0.5, 0.499999, -0.4999999999, 0x1p-40, -0x1p-30, 0.25})
      if (std::fabs(n + f) <= 1020) look(n + f);
  }
  for (std::uint64_t i = 0; i < 300000; ++i) {
    const double unit = random_bits(i) * 0x1p-32;
    look(i % 2 ? 300 * unit - 150 : std::ldexp(unit - 0.5, -static_cast<int>(i % 40)));
  }
  std::printf("%lld arguments: largest relative error %.4f of the bound, at %a\n",
              static_cast<long long>(s.arguments), s.worst / fast::kExp2Error, s.at);
  EXPECT_LE(s.worst, fast::kExp2Error);
  EXPECT_GE(s.worst, 0.5 * fast::kExp2Error);
}

}  // namespace
}  // namespace assay
