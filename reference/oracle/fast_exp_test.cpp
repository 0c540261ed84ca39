// SPDX-License-Identifier: Apache-2.0
// Compares the fast tier's exp with MPFR, and on 10^9 arguments with products of tabulated powers from MPFR.
#include "reference/oracle/fast_exp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "reference/hash/draws.hpp"
#include "reference/mpfr_value.hpp"
#include "reference/oracle/fast_exp2.hpp"
#include "reference/oracle/fast_log.hpp"
#include "reference/parallel.hpp"

namespace assay {
namespace {

/// |exp(t, t_lo) / e^(t + t_lo) - 1|, rounded up.
double relative_error(double t, double t_lo) {
  MpfrValue exact(200), got(200);
  mpfr_set_d(exact, t, MPFR_RNDN);
  mpfr_add_d(exact, exact, t_lo, MPFR_RNDN);
  mpfr_exp(exact, exact, MPFR_RNDN);
  mpfr_set_d(got, fast::exp(t, t_lo), MPFR_RNDN);
  mpfr_sub(got, got, exact, MPFR_RNDN);
  mpfr_div(got, got, exact, MPFR_RNDN);
  return std::fabs(mpfr_get_d(got, MPFR_RNDA));
}

TEST(FastExp, IsOneAtZero) {
  EXPECT_EQ(fast::exp(0.0), 1.0);
  EXPECT_EQ(fast::exp(-0.0), 1.0);
}

TEST(FastExp, StaysWithinItsBound) {
  double worst = 0, worst_at = 0;
  const auto look = [&](double t, double t_lo) {
    const double e = relative_error(t, t_lo);
    if (!(e <= worst)) worst = std::isnan(e) ? INFINITY : e, worst_at = t;
  };
  for (double t : {-708.0, 709.0, -0x1p-60, 0x1p-60, -0x1p-1074, 0x1.62e42fefa39efp-1, -0x1.62e42fefa39efp-2})
    look(t, 0);
  // Around every change of n, where |r| is largest, with and without a second part; and all magnitudes.
  for (int n = -1021; n <= 1022; ++n)
    for (int k = -2; k <= 2; ++k) {
      const double t = (n + 0.5) * 0x1.62e42fefa39efp-1 * (1 + k * 0x1p-52);
      if (t < fast::kExpLowest || t > fast::kExpHighest) continue;
      look(t, 0);
      look(t, k * 0x1p-44);
    }
  for (std::uint64_t i = 0; i < 150000; ++i) {
    const std::uint64_t h = mixed(i);
    const double unit = static_cast<double>(h >> 11) * 0x1p-53;
    look(i % 3 == 0   ? -708 * unit
         : i % 3 == 1 ? std::ldexp(-1 - unit, static_cast<int>(h % 40) - 31)
                      : 709 * unit,
         i % 2 ? static_cast<double>(static_cast<std::int64_t>(mixed(h))) * 0x1p-107 : 0);
  }
  std::printf("largest relative error %.4f of the bound, at %a\n", worst / fast::kExpError, worst_at);
  EXPECT_LE(worst, fast::kExpError);
  EXPECT_GE(worst, 0.6 * fast::kExpError) << "the bound is looser than it need be, or the search too tame";
}

/// hi + lo, |lo| at most half an ulp of hi.
struct Double2 {
  double hi, lo;
};
Double2 times(Double2 a, Double2 b) {
  const double p = a.hi * b.hi;
  const double e = std::fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi);
  const double hi = p + e;
  return {hi, e - (hi - p)};
}

/// 2^scale e^-(j 2^log2_step) for all j, from MPFR.
template <std::size_t n>
std::array<Double2, n> powers(int log2_step, int scale) {
  std::array<Double2, n> table;
  MpfrValue v(160), t(160);
  for (std::size_t j = 0; j < n; ++j) {
    mpfr_set_si_2exp(t, -static_cast<long>(j), log2_step, MPFR_RNDN);
    mpfr_exp(v, t, MPFR_RNDN);
    mpfr_mul_2si(v, v, scale, MPFR_RNDN);
    table[j].hi = mpfr_get_d(v, MPFR_RNDN);
    mpfr_sub_d(v, v, table[j].hi, MPFR_RNDN);
    table[j].lo = mpfr_get_d(v, MPFR_RNDN);
  }
  return table;
}

/// Fixed-point digits of the argument select powers from tables. The rest, below 2^-20, is a Taylor sum.
/// Relative error below 2^-82: the products of pairs 2^-102 each, the Taylor remainder 2^-84.5. The powers
/// are scaled so that no low part is subnormal.
constexpr int kScale = 300;
struct Powers {
  std::array<Double2, 709> whole = powers<709>(0, kScale);
  std::array<Double2, 1024> upper = powers<1024>(-10, 0), lower = powers<1024>(-20, 0);
  /// 2^kScale e^t, -708 < t <= 0.
  Double2 of(double t) const {
    const double a = -t;
    const auto w = static_cast<std::size_t>(a);
    const double f = (a - static_cast<double>(w)) * 0x1p10;
    const auto u = static_cast<std::size_t>(f);
    const double g = (f - static_cast<double>(u)) * 0x1p10;
    const auto l = static_cast<std::size_t>(g);
    const double r = -(g - static_cast<double>(l)) * 0x1p-20;
    const double r2 = r * r;
    const double tail = std::fma(r, r, -r2) * 0.5 + r * r2 * (1.0 / 6);
    const double s = 1 + r;
    const double v = s + r2 * 0.5;
    const Double2 rest{v, ((1 - s) + r) + ((s - v) + r2 * 0.5) + tail};
    return times(times(whole[w], upper[u]), times(lower[l], rest));
  }
};

struct Worst {
  double error = 0, at = 0;
};
constexpr std::uint64_t kBlock = 1'000'000;

/// Arguments begin ... begin + kBlock: half uniform in [-708, 0], half near 0.
inline void block(const Powers& table, std::uint64_t begin, Worst& worst) {
  for (std::uint64_t i = begin; i < begin + kBlock; ++i) {
    const double unit = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
    const double t = i % 2 ? -708 * unit : -unit * unit * 20;
    const Double2 v = table.of(t);
    const double e = std::fabs((fast::exp(t) * 0x1p300 - v.hi) - v.lo) / v.hi;
    if (!(e <= worst.error)) worst = {std::isnan(e) ? INFINITY : e, t};
  }
}
/// The same with FMA instructions, several times as fast.
[[gnu::target("avx2,fma"), gnu::flatten]] void block_avx2(const Powers& table, std::uint64_t begin,
                                                          Worst& worst) {
  block(table, begin, worst);
}

TEST(FastExp, StaysWithinItsBoundOnABillionArguments) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t kArguments = 1'000'000;
#else
  constexpr std::uint64_t kArguments = 1'000'000'000;
#endif
  const Powers table;
  // First compare the table itself with MPFR.
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double t = -708 * static_cast<double>(mixed(i) >> 11) * 0x1p-53;
    const Double2 v = table.of(t);
    MpfrValue exact(200);
    mpfr_set_d(exact, t, MPFR_RNDN);
    mpfr_exp(exact, exact, MPFR_RNDN);
    mpfr_mul_2si(exact, exact, kScale, MPFR_RNDN);
    MpfrValue off(200);
    mpfr_sub_d(off, exact, v.hi, MPFR_RNDN);
    mpfr_sub_d(off, off, v.lo, MPFR_RNDN);
    mpfr_div(off, off, exact, MPFR_RNDN);
    ASSERT_LE(std::fabs(mpfr_get_d(off, MPFR_RNDA)), 0x1p-80) << t;
  }
  constexpr std::size_t kBlocks = kArguments / kBlock;
  static_assert(kBlocks * kBlock == kArguments);
  std::vector<Worst> worst(static_cast<std::size_t>(workers_for(kBlocks, 0)));
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  parallel_for_workers(kBlocks, 0, [&](std::size_t i, int worker) {
    Worst& mine = worst[static_cast<std::size_t>(worker)];
    wide ? block_avx2(table, i * kBlock, mine) : block(table, i * kBlock, mine);
  });
  const Worst w =
      *std::max_element(worst.begin(), worst.end(), [](Worst a, Worst b) { return a.error < b.error; });
  std::printf("%llu arguments: largest relative error %.4f of the bound, at %a\n",
              static_cast<unsigned long long>(kArguments), w.error / fast::kExpError, w.at);
  EXPECT_LE(w.error, fast::kExpError);
}

}  // namespace

// Compares the fast tier's log and exp2 with MPFR: adversarial arguments, then random ones.

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
