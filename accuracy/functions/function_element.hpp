// SPDX-License-Identifier: Apache-2.0
// Compares one value of a function under test with the exact one. The host's and the device's sweep
// (function_sweep.hpp) share this source. The exact value comes as an enclosure from
// reference/oracle/fast_*.hpp. It is scaled so that one unit in the last place is 1; the rest follows from
// the two integers around it. What the enclosure does not decide is left to MPFR. Compile with contraction
// off.
#pragma once

#include <cstdint>

#include "reference/oracle/fast_exp.hpp"
#include "reference/oracle/fast_exp2.hpp"
#include "reference/oracle/fast_log.hpp"

namespace assay::functions {

/// What a function under test computes; divide is a / b, and a reciprocal has a = 1.
enum class Truth { exp, exp2, log, divide };

/// Where the arguments come from, by index.
///   all:     one argument, every bit pattern of the format in the order of value, NaN at both ends;
///   squares: two arguments of a 16-bit format, every pair; the first runs fastest;
///   grid:    two arguments, every pair of a sorted list; the first runs fastest.
enum class Space { all, squares, grid };

/// Everything that a sweep needs to know about one function, on host and device.
struct Rules {
  Truth truth = Truth::exp;
  Space space = Space::all;
  // The format of arguments and results.
  int bits = 32, mantissa = 23, emin = -126, emax = 127;
  std::int64_t list_size = 0;
  const float* list = nullptr;   // the sorted list of a grid, in the memory of host or device
  bool flush = false;            // a subnormal argument counts as zero
  double limit = 0.5;            // for a normal result, in ulp: k + 1/2
  double limit_subnormal = 0.5;  // for a subnormal one, in smallest subnormals
  double floor = 0;              // what exp(-inf) gives: 0, unless a function clamps its argument
  bool slope = false;            // the limit may grow with |argument|: find the slope that is needed
  double absolute_lo = 1, absolute_hi = 0;       // arguments with only an absolute error documented
  double divisor_lo = 0, divisor_hi = 0x1p1023;  // |b| inside is in the documented domain
  double mean_lo = 0, mean_hi = 0;               // arguments over which the mean signed error is taken
};

/// A finite, non-zero exact value: its magnitude lies in [lo, hi]; its sign is 1 or -1. `below` is 1 if the
/// value is known to be smaller than hi and hi is a power of two, else 0. It is no bool because the host's
/// judge is to be vectorised.
struct Exact {
  double lo, hi;
  double sign;
  std::int64_t below;
};

ASSAY_HOST_DEVICE double nearest_integer(double x) {
#if defined(__CUDA_ARCH__)
  return rint(x);
#else
  return __builtin_rint(x);
#endif
}

/// Enclosures of e^a, 2^a, ln a and a / b, for arguments that are not special (see special_value).
template <Truth truth>
ASSAY_HOST_DEVICE Exact exact_value(double a, double b) {
  if constexpr (truth == Truth::exp || truth == Truth::exp2) {
    constexpr bool natural = truth == Truth::exp;
    // Beyond these ends, results overflow or vanish in every format.
    constexpr double kLeast = natural ? -708 : -1020, kMost = natural ? 709 : 1020;
    const double t = a < kLeast ? kLeast : a > kMost ? kMost : a;
    // The value is in y / (1 +- e). 2^-52 covers two roundings, and the difference between 1 / (1 + e) and 1
    // - e.
    constexpr double kWidth = (natural ? fast::kExpError : fast::kExp2Error) + 0x1p-52;
    const double y = natural ? fast::exp(t) : fast::exp2(t);
    // An integer's power of two is exact.
    const double width = !natural && t == nearest_integer(t) ? 0 : kWidth;
    double lo = fast::fma(-width, y, y), hi = fast::fma(width, y, y);
    // The sign of the argument decides on which side of 1 the value lies, however close to 1 it is.
    const double least = t >= 0 ? 1 : 0, most = t <= 0 ? 1 : 0x1p1022;
    const std::int64_t negative = t < 0 ? 1 : 0;
    const std::int64_t below = hi >= 1 ? negative : 0;
    lo = lo < least ? least : lo;
    hi = hi > most ? most : hi;
    return {a < kLeast ? 0 : lo, a > kMost ? 0x1p1022 : hi, 1, below};
  } else if constexpr (truth == Truth::log) {
    const double y = fast::log(a > 0 ? a : 1);
    const double size = y < 0 ? -y : y;
    constexpr double kWidth = fast::kLogError + 0x1p-52;
    return {fast::fma(-kWidth, size, size), fast::fma(kWidth, size, size), y < 0 ? -1.0 : 1.0, 0};
  } else {
    const double y = a / b;
    const double size = y < 0 ? -y : y;
    // Quotients of f32 values neither underflow nor overflow in fp64, so the remainder is exact.
    const double width = fast::fma(-y, b, a) == 0 ? 0 : 0x1p-52;
    return {fast::fma(-width, size, size), fast::fma(width, size, size), y < 0 ? -1.0 : 1.0, 0};
  }
}

/// True if the exact result is NaN, infinite or zero by rule; then `value` is that result.
template <Truth truth>
ASSAY_HOST_DEVICE bool special_value(double a, double b, double& value) {
  constexpr double kInf = __builtin_huge_val();
  if constexpr (truth == Truth::exp || truth == Truth::exp2) {
    value = a > 0 ? kInf : a < 0 ? 0.0 : a;  // used for +-inf and NaN only
    return !(a - a == 0);
  } else if constexpr (truth == Truth::log) {
    value = a == 0 ? -kInf : a == 1 ? 0.0 : a > 0 ? a : kInf - kInf;
    return !(a > 0 && a < kInf) || a == 1;
  } else {
    value = a / b;
    return !(a - a == 0) || !(b - b == 0) || a == 0 || b == 0;
  }
}

/// A result compared with its exact value, in units in the last place of the exact value.
struct Judged {
  double error;         // upper end of |got - exact|; not finite for NaN
  double signed_error;  // (|got| - |exact|), at the middle of the enclosure
  double size;          // |exact| in those units: at least 2^mantissa if normal
  double unit;          // the unit itself
  double relative;      // error / size
  bool correct;         // correctly rounded (valid only if decided)
  bool decided;         // the rounding and the unit are the same over the whole enclosure
};

ASSAY_HOST_DEVICE Judged judge_value(const Rules& f, double got, const Exact& y) {
  // floor(log2) of both ends, inside the format's exponents. A value smaller than hi has the exponent of the
  // number before it.
  const std::int64_t low = (fast::bits_of(y.lo) >> 52) - 1023;
  const std::int64_t high = ((fast::bits_of(y.hi) - y.below) >> 52) - 1023;
  const std::int64_t emin = f.emin, emax = f.emax;
  const std::int64_t e_lo = low < emin ? emin : low > emax ? emax : low;
  const std::int64_t e_hi = high < emin ? emin : high > emax ? emax : high;
  const double scale = fast::from_bits((1023 + f.mantissa - e_hi) << 52);
  const double s_lo = y.lo * scale, s_hi = y.hi * scale;
  // Infinity stands for 2^(emax + 1), the next number if the exponents continued.
  const double over = fast::from_bits((1024 + emax) << 52);
  double g = y.sign * got;
  g = (g > over ? over : g) * scale;
  const double top = over * scale;
  const double r_lo = nearest_integer(s_lo), r_hi = nearest_integer(s_hi);
  const double n_lo = r_lo > top ? top : r_lo, n_hi = r_hi > top ? top : r_hi;
  const double d_lo = g - s_lo, d_hi = g - s_hi;
  const double a_lo = d_lo < 0 ? -d_lo : d_lo, a_hi = d_hi < 0 ? -d_hi : d_hi;
  const bool overflowed = g == top && n_lo == top;
  Judged j;
  j.correct = g == n_hi;
  j.decided = e_lo == e_hi && n_lo == n_hi;
  j.error = overflowed ? 0 : (a_lo > a_hi ? a_lo : a_hi);
  j.error = g == g ? j.error : __builtin_huge_val();
  j.signed_error = overflowed || !(g == g) ? 0 : 0.5 * (d_lo + d_hi);
  j.size = s_hi;
  j.relative = j.error / s_hi;
  j.unit = fast::from_bits((1023 + e_hi - f.mantissa) << 52);
  return j;
}

/// Bits of the i-th number of a format, ordered by value: negative NaN, -inf, ..., -0, +0, ..., +inf, NaN.
ASSAY_HOST_DEVICE std::uint32_t ordered_bits(int bits, std::uint64_t i) {
  const std::uint32_t sign = std::uint32_t{1} << (bits - 1);
  const auto n = static_cast<std::uint32_t>(i);
  return n & sign ? n ^ sign : ~n & (sign | (sign - 1));
}

ASSAY_HOST_DEVICE float float_of_bits(std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(b);
#else
  return __builtin_bit_cast(float, b);
#endif
}
ASSAY_HOST_DEVICE std::uint32_t bits_of_float(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(std::uint32_t, x);
#endif
}

/// The exact value of a bit pattern.
ASSAY_HOST_DEVICE double value_of_bits(const Rules& f, std::uint32_t b) {
  if (f.bits == 32) return static_cast<double>(float_of_bits(b));
  if (f.mantissa == 7) return static_cast<double>(float_of_bits(b << 16));
  // f16: the exponent moves by an exact product, which also normalises subnormals.
  const std::uint32_t rest = b & 0x7fff;
  const double size = rest < 0x7c00 ? static_cast<double>(float_of_bits(rest << 13)) * 0x1p112
                                    : static_cast<double>(float_of_bits(rest << 13 | 0x7f800000u));
  return b & 0x8000 ? -size : size;
}

/// Bits of the arguments at one place (index) of the space.
struct Arguments {
  std::uint32_t a, b;
};
ASSAY_HOST_DEVICE Arguments arguments_of(const Rules& f, std::int64_t place) {
  const auto at = static_cast<std::uint64_t>(place);
  if (f.space == Space::squares)
    return {ordered_bits(f.bits, at & 0xffff), ordered_bits(f.bits, at >> 16 & 0xffff)};
  if (f.space == Space::grid) {
    const auto n = static_cast<std::uint64_t>(f.list_size);
    return {bits_of_float(f.list[at % n]), bits_of_float(f.list[at / n])};
  }
  const std::uint32_t x = ordered_bits(f.bits, at);
  if (f.truth == Truth::divide) {
    const std::uint32_t one = f.bits == 32 ? 0x3f800000u : f.mantissa == 7 ? 0x3f80u : 0x3c00u;
    return {one, x};
  }
  return {x, 0};
}

/// True if the results at two places can be compared in order: places with the same second argument, and for
/// a reciprocal places with the same sign.
ASSAY_HOST_DEVICE bool same_chain(const Rules& f, std::int64_t place, std::int64_t previous) {
  if (f.space == Space::all)
    return f.truth != Truth::divide || place >> (f.bits - 1) == previous >> (f.bits - 1);
  const std::int64_t chain = f.space == Space::squares ? 65536 : f.list_size;
  return place / chain == previous / chain;
}

/// The value of an argument as the function sees it.
ASSAY_HOST_DEVICE double argument_value(const Rules& f, std::uint32_t bits) {
  const double x = value_of_bits(f, bits);
  if (!f.flush) return x;
  const double least = fast::from_bits((1023 + static_cast<std::int64_t>(f.emin)) << 52);
  return -least < x && x < least ? x * 0 : x;
}

/// A run of places of a sweep, `stride` apart.
struct Range {
  std::int64_t first = 0, count = 0, stride = 1;
};

/// A value that the fast tier leaves to MPFR.
struct Undecided {
  std::int64_t place;
  std::uint32_t got;
};

}  // namespace assay::functions
