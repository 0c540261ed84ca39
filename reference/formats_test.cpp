// SPDX-License-Identifier: Apache-2.0
// Tests formats exhaustively (16 bits) and against integer rounding in MPFR: every value, every midpoint
// between two values, and the doubles on either side of it.
#include "reference/formats.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double nearest(Dtype t, double x) {
  MpfrValue v(53);
  mpfr_set_d(v, x, MPFR_RNDN);
  return nearest_by_integers(t, v);
}

void expect_rounding(Dtype t, double x) {
  const double expected = nearest(t, x);
  const double got = decode(t, encode(t, x));
  ASSERT_EQ(got, expected) << name(t) << " " << std::hexfloat << x;
  ASSERT_EQ(std::signbit(got), std::signbit(x)) << name(t) << " " << std::hexfloat << x;
  MpfrValue v(53);
  mpfr_set_d(v, x, MPFR_RNDN);
  if (x != 0) {
    ASSERT_EQ(round_bits(t, v), encode(t, x)) << name(t) << " " << std::hexfloat << x;
  }
}

struct Two {
  double first, second;
};
[[gnu::noinline]] Two quotients_through_f32(double a, double b) {
  return {static_cast<double>(static_cast<float>(1 / a)), static_cast<double>(static_cast<float>(1 / b))};
}
[[gnu::noinline]] Two through_f32(double a, double b) {
  return {static_cast<double>(static_cast<float>(a)), static_cast<double>(static_cast<float>(b))};
}

[[gnu::noinline]] float truncated_exp_if(bool truncate, float x) {
  float e = std::exp(x);
  if (truncate) e = std::bit_cast<float>(std::bit_cast<std::uint32_t>(e) & 0xffff0000u);
  return e;
}

/// Tests the compiler: it must not drop the mask. GCC 12.2 does, unless a flag forbids it.
TEST(Formats, AMaskUnderAConditionIsKept) {
  volatile bool truncate = true;
  volatile float x = -0.9f;
  EXPECT_EQ(truncated_exp_if(truncate, x), 0x1.ap-2f);
}

/// Tests the compiler: it must not drop the two roundings. GCC 12.2 does, unless a flag forbids it.
TEST(Formats, RoundingsSideBySideAreKept) {
  volatile double three = 3, seven = 7;
  const Two q = quotients_through_f32(three, seven), t = through_f32(1 / three, 1 / seven);
  for (const Two& two : {q, t}) {
    EXPECT_EQ(two.first, 0x1.555556p-2);
    EXPECT_EQ(two.second, 0x1.24924ap-3);
  }
}

TEST(Formats, SixteenBitValuesRoundTrip) {
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    int values = 0;
    for (std::uint64_t b = 0; b < 65536; ++b) {
      if (is_nan_bits(t, b)) {
        ASSERT_TRUE(std::isnan(decode(t, b)));
        ASSERT_TRUE(is_nan_bits(t, encode(t, decode(t, b))));
        continue;
      }
      ++values;
      ASSERT_EQ(encode(t, decode(t, b)), b) << name(t);
    }
    EXPECT_EQ(values, t == Dtype::f16 ? 65536 - 2 * 1023 : 65536 - 2 * 127);
  }
}

TEST(Formats, RandomWideValuesRoundTrip) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const std::uint64_t b = random();
    const std::uint64_t half = b & 0xffffffff;
    if (!is_nan_bits(Dtype::f32, half)) {
      ASSERT_EQ(encode(Dtype::f32, decode(Dtype::f32, half)), half);
    }
    if (!is_nan_bits(Dtype::f64, b)) {
      ASSERT_EQ(encode(Dtype::f64, decode(Dtype::f64, b)), b);
    }
  }
}

TEST(Formats, DecodeIsTheTextbookFormula) {
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    const Format f = format(t);
    for (std::uint64_t b = 0; b < f.infinity_bits(); ++b) {
      const auto mantissa = static_cast<double>(b & f.mantissa_mask());
      const int field = static_cast<int>(b >> f.mantissa_bits());
      const double one = std::ldexp(1.0, f.mantissa_bits());
      const double expected = field == 0 ? std::ldexp(mantissa, f.emin - f.mantissa_bits())
                                         : std::ldexp(one + mantissa, f.emin + field - 1 - f.mantissa_bits());
      ASSERT_EQ(decode(t, b), expected) << name(t) << " " << b;
      ASSERT_EQ(decode(t, b | f.sign_mask()), -expected);
    }
  }
}

TEST(Formats, MidpointsAndTheirNeighboursRoundAsIntegersDo) {
  std::mt19937_64 random(2);
  for (Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const std::uint64_t end = format(t).infinity_bits();
    for (int i = 0; i < 40000; ++i) {
      // f16 and bf16: every value. f32: random values, with more of the subnormals and of the last binade.
      std::uint64_t b = static_cast<std::uint64_t>(i);
      if (t == Dtype::f32) b = i < 5000 ? b : i < 10000 ? end - 1 - (b - 5000) : random() % end;
      if (b >= end) break;
      const double low = decode(t, b);
      const double high = b + 1 == end ? std::ldexp(1.0, format(t).emax + 1) : decode(t, b + 1);
      const double middle = low + (high - low) / 2;
      for (double x : {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, kInfinity)}) {
        expect_rounding(t, x);
        expect_rounding(t, -x);
      }
    }
  }
}

TEST(Formats, RandomDoublesRoundAsIntegersDo) {
  std::mt19937_64 random(3);
  for (Dtype t : kDtypes) {
    const Format f = format(t);
    std::uniform_int_distribution<int> exponent(f.emin - f.precision - 2, f.emax + (t == Dtype::f64 ? 0 : 1));
    for (int i = 0; i < 50000; ++i) {
      const double significand = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
      expect_rounding(t, std::ldexp(i & 1 ? significand : -significand, exponent(random)));
    }
  }
}

TEST(Formats, RoundBitsSeesBeyondDouble) {
  for (Dtype t : kDtypes) {
    const double tiny = min_subnormal(t);
    for (double odd : {1.0, 3.0, 5.0}) {  // odd multiples of half the smallest subnormal: ties
      MpfrValue v(400);
      mpfr_set_d(v, odd, MPFR_RNDN);
      mpfr_mul_d(v, v, tiny, MPFR_RNDN);
      mpfr_div_2ui(v, v, 1, MPFR_RNDN);
      const auto below = static_cast<std::uint64_t>((odd - 1) / 2);
      EXPECT_EQ(round_bits(t, v), below % 2 == 0 ? below : below + 1) << name(t) << odd;
      mpfr_nextbelow(v);
      EXPECT_EQ(round_bits(t, v), below) << name(t) << odd;
      mpfr_nextabove(v);
      mpfr_nextabove(v);
      EXPECT_EQ(round_bits(t, v), below + 1) << name(t) << odd;
      mpfr_neg(v, v, MPFR_RNDN);
      EXPECT_EQ(round_bits(t, v), format(t).sign_mask() | (below + 1)) << name(t) << odd;
    }
    MpfrValue v(400);
    mpfr_set_d(v, max_finite(t), MPFR_RNDN);
    mpfr_add_d(v, v, ulp(t, max_finite(t)) / 2, MPFR_RNDN);
    EXPECT_EQ(round_bits(t, v), format(t).infinity_bits()) << name(t);
    mpfr_nextbelow(v);
    EXPECT_EQ(round_bits(t, v), format(t).infinity_bits() - 1) << name(t);
  }
}

TEST(Formats, SpecialValues) {
  for (Dtype t : kDtypes) {
    const Format f = format(t);
    EXPECT_EQ(encode(t, kInfinity), f.infinity_bits());
    EXPECT_EQ(encode(t, -kInfinity), f.sign_mask() | f.infinity_bits());
    EXPECT_EQ(encode(t, 0.0), 0u);
    EXPECT_EQ(encode(t, -0.0), f.sign_mask());
    EXPECT_TRUE(is_nan_bits(t, encode(t, std::nan(""))));
    EXPECT_FALSE(is_nan_bits(t, f.infinity_bits()));
    EXPECT_TRUE(is_nan_bits(t, f.infinity_bits() + 1));
    EXPECT_EQ(encode(t, std::bit_cast<double>(0x7ff0000000000001)) & f.mantissa_mask(),
              (f.mantissa_mask() + 1) / 2);  // a signalling payload becomes the canonical one
    EXPECT_EQ(parse_dtype(name(t)), t);
  }
  EXPECT_FALSE(parse_dtype("f8"));
  EXPECT_EQ(max_finite(Dtype::f16), 65504);
  EXPECT_EQ(max_finite(Dtype::f32), static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(max_finite(Dtype::f64), std::numeric_limits<double>::max());
  EXPECT_EQ(min_subnormal(Dtype::f32), static_cast<double>(std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(min_subnormal(Dtype::f64), std::numeric_limits<double>::denorm_min());
}

TEST(Formats, UlpIsTheGapAboveAValue) {
  std::mt19937_64 random(4);
  for (Dtype t : kDtypes) {
    const std::uint64_t last = format(t).infinity_bits() - 1;  // no gap above the largest
    for (int i = 0; i < 70000; ++i) {
      const bool narrow = size_of(t) == 2;
      const std::uint64_t b = narrow ? static_cast<std::uint64_t>(i) : random() % last;
      if (b >= last) break;
      const double y = decode(t, b);
      ASSERT_EQ(ulp(t, y), decode(t, b + 1) - y) << name(t) << " " << b;
      ASSERT_EQ(ulp(t, -y), ulp(t, y));
      ASSERT_EQ(next_up(t, y), decode(t, b + 1));
      ASSERT_EQ(next_up(t, -decode(t, b + 1)), -y);
      if (t != Dtype::f64) {
        // A real number strictly between two values has the ulp of the lower one.
        ASSERT_EQ(ulp(t, std::nextafter(decode(t, b + 1), 0.0)), ulp(t, y)) << name(t) << " " << b;
      }
    }
    EXPECT_EQ(ulp(t, 0), min_subnormal(t));
    EXPECT_EQ(ulp(t, 1), 2 * unit_roundoff(t));
    EXPECT_EQ(ulp(t, 0x1p-1074), min_subnormal(t));
  }
}

TEST(Bits, AnElementOfOneByteIsOneByte) {
  const std::uint8_t bytes[] = {1, 2, 0x83, 4, 5, 6, 7, 8};
  EXPECT_EQ(load_unsigned(1, bytes, 2), 0x83u);
  EXPECT_EQ(load_unsigned(1, bytes, 7), 8u);
  EXPECT_DEATH(load_unsigned(3, bytes, 0), "");
}

}  // namespace
}  // namespace assay
