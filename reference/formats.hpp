// SPDX-License-Identifier: Apache-2.0
// Number formats f16, bf16, f32 and f64: bits to real value (exact) and back (round to nearest, ties to
// even), unit roundoff u, and the ulp of a real number. Every value of every format is exact in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

enum class Dtype { f16, bf16, f32, f64 };

inline constexpr double kInf = __builtin_huge_val();

inline constexpr Dtype kDtypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};

/// An IEEE-style binary format. `precision` counts the hidden bit; normal exponents lie in [emin, emax].
struct Format {
  const char* name;
  int bits;
  int precision;
  int emin;
  int emax;

  constexpr int mantissa_bits() const { return precision - 1; }
  constexpr std::uint64_t sign_mask() const { return std::uint64_t{1} << (bits - 1); }
  constexpr std::uint64_t mantissa_mask() const { return (std::uint64_t{1} << mantissa_bits()) - 1; }
  constexpr std::uint64_t exponent_mask() const { return sign_mask() - 1 - mantissa_mask(); }
  constexpr std::uint64_t infinity_bits() const { return exponent_mask(); }
};

constexpr Format format(Dtype t) {
  switch (t) {
    case Dtype::f16:
      return {"f16", 16, 11, -14, 15};
    case Dtype::bf16:
      return {"bf16", 16, 8, -126, 127};
    case Dtype::f32:
      return {"f32", 32, 24, -126, 127};
    case Dtype::f64:
      return {"f64", 64, 53, -1022, 1023};
  }
  return {};
}

constexpr const char* name(Dtype t) { return format(t).name; }
constexpr std::size_t size_of(Dtype t) { return static_cast<std::size_t>(format(t).bits) / 8; }

inline std::optional<Dtype> parse_dtype(std::string_view s) {
  for (Dtype t : kDtypes)
    if (s == name(t)) return t;
  return std::nullopt;
}

/// The dtypes for which bounds are derived: arithmetic in f32 and narrower.
inline constexpr Dtype kJudged[] = {Dtype::f16, Dtype::bf16, Dtype::f32};
/// Their names, separated by spaces.
inline std::string names_of_judged() {
  std::string all;
  for (const Dtype t : kJudged) all += (all.empty() ? "" : " ") + std::string(name(t));
  return all;
}
constexpr bool can_judge(Dtype t) {
  for (Dtype j : kJudged)
    if (t == j) return true;
  return false;
}

/// 2^e as a double, for -1074 <= e <= 1023.
constexpr double exp2i(int e) {
  if (e < -1022) return std::bit_cast<double>(std::uint64_t{1} << (e + 1074));
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// Unit roundoff 2^-p.
constexpr double unit_roundoff(Dtype t) { return exp2i(-format(t).precision); }
constexpr double min_normal(Dtype t) { return exp2i(format(t).emin); }
constexpr double min_subnormal(Dtype t) { return exp2i(format(t).emin - format(t).mantissa_bits()); }
constexpr double max_finite(Dtype t) { return (2.0 - 2.0 * unit_roundoff(t)) * exp2i(format(t).emax); }

/// floor(log2 |y|) for finite non-zero y.
constexpr int exponent_of(double y) {
  const std::uint64_t b = std::bit_cast<std::uint64_t>(y) & ~(std::uint64_t{1} << 63);
  const int e = static_cast<int>(b >> 52);
  if (e != 0) return e - 1023;
  return 63 - std::countl_zero(b) - 1074;
}

/// ulp_T(y) = 2^(max(floor(log2 |y|), emin) - p + 1) for a real y; ulp_T(0) is the smallest subnormal.
constexpr double ulp(Dtype t, double y) {
  const Format f = format(t);
  const int e = y == 0 ? f.emin : (exponent_of(y) < f.emin ? f.emin : exponent_of(y));
  return exp2i(e - f.mantissa_bits());
}

/// Exact value of a bit pattern; the low `bits` bits of `b` are used.
constexpr double decode(Dtype t, std::uint64_t b) {
  if (t == Dtype::f64) return std::bit_cast<double>(b);
  if (t == Dtype::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  if (t == Dtype::bf16)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b & 0xffff) << 16));
  const std::uint64_t sign = (b >> 15 & 1) << 63;
  const std::uint64_t e = b >> 10 & 31;
  const std::uint64_t m = b & 1023;
  if (e == 31) return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << 52 | m << 42);
  if (e == 0) {
    const double v = static_cast<double>(m) * 0x1p-24;
    return sign ? -v : v;
  }
  return std::bit_cast<double>(sign | (e + 1008) << 52 | m << 42);
}

/// Bits of the nearest value, ties to even; overflows to infinity; NaN becomes the canonical quiet NaN.
constexpr std::uint64_t encode(Dtype t, double x) {
  const Format f = format(t);
  const std::uint64_t b = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t sign = b >> 63 ? f.sign_mask() : 0;
  if (x != x) return sign | f.exponent_mask() | (std::uint64_t{1} << (f.mantissa_bits() - 1));
  if (t == Dtype::f64) return b;
  const std::uint64_t abs = b & ~(std::uint64_t{1} << 63);
  if (abs == 0) return sign;
  if (abs >> 52 == 0x7ff) return sign | f.infinity_bits();
  const int e = exponent_of(std::bit_cast<double>(abs));
  if (e < f.emin - f.precision) return sign;  // below half the smallest subnormal
  if (e > f.emax) return sign | f.infinity_bits();
  // The significand as a 53-bit integer. The shift makes its unit the format's ulp.
  const std::uint64_t significand = (abs >> 52)
                                        ? ((abs & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52)
                                        : abs << (52 - (e + 1074));
  const int quantum = (e < f.emin ? f.emin : e) - f.mantissa_bits();
  const int shift = 52 - e + quantum;  // 1 <= shift <= 54 for formats narrower than f64
  const std::uint64_t kept = shift >= 64 ? 0 : significand >> shift;
  const std::uint64_t rest = significand - (kept << shift);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
  // A carry out of the mantissa increments the exponent field. That is the correct result of rounding up to
  // the next binade.
  const std::uint64_t biased = static_cast<std::uint64_t>((e < f.emin ? f.emin : e) - f.emin);
  return sign | ((biased << f.mantissa_bits()) + rounded);
}

/// The value of the format nearest to x, ties to even.
constexpr double round_to(Dtype t, double x) { return decode(t, encode(t, x)); }

/// The smallest value of the format greater than x. x itself is a value of the format.
constexpr double next_up(Dtype t, double x) {
  const Format f = format(t);
  const std::uint64_t b = encode(t, x);
  if (x != x || b == f.infinity_bits()) return x;
  if (x == 0) return min_subnormal(t);
  return decode(t, b & f.sign_mask() ? b - 1 : b + 1);
}

/// The interval of real numbers that round to a value x >= 0 of the format, with either rule for ties. It
/// runs from halfway to the neighbour below to halfway to the neighbour above. For NaN and infinities both
/// ends are x.
struct RoundsTo {
  double lo, hi;
};
constexpr RoundsTo rounds_to(Dtype t, double x) {
  if (!(x >= 0 && x <= max_finite(t)) || t == Dtype::f64) return {x, x};
  const double above = ulp(t, x);
  // Below a power of two the values are twice as dense. 0 has no non-negative neighbour below it.
  const bool power = x > min_normal(t) && x == exp2i(exponent_of(x));
  return {x == 0 ? 0 : x - above / (power ? 4 : 2), x + above / 2};
}

constexpr bool is_nan_bits(Dtype t, std::uint64_t b) {
  const Format f = format(t);
  return (b & (f.sign_mask() - 1)) > f.infinity_bits();
}

/// Calls `use` with a zero of the unsigned integer type of `bytes` bytes: std::uint16_t{} for 2. Each size
/// has a line of its own, so an element of one byte is never read as one of eight.
template <class Use>
constexpr auto with_unsigned(std::size_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::uint16_t{});
    case 4:
      return use(std::uint32_t{});
    case 8:
      return use(std::uint64_t{});
  }
  std::abort();  // no element has such a size
}

/// The bits of element `i` of an array whose elements have `bytes` bytes.
inline std::uint64_t load_unsigned(std::size_t bytes, const void* p, std::int64_t i) {
  return with_unsigned(bytes,
                       [&](auto zero) -> std::uint64_t { return static_cast<const decltype(zero)*>(p)[i]; });
}

/// Reads or writes one element's bits in memory.
inline std::uint64_t load_bits(Dtype t, const void* p, std::int64_t i) {
  return load_unsigned(size_of(t), p, i);
}
inline void store_bits(Dtype t, void* p, std::int64_t i, std::uint64_t b) {
  with_unsigned(size_of(t), [&](auto zero) {
    using Bits = decltype(zero);
    static_cast<Bits*>(p)[i] = static_cast<Bits>(b);
  });
}

}  // namespace assay
