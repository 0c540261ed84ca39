// SPDX-License-Identifier: Apache-2.0
// Computes one logit of a genome, one source for the host and for CUDA. It uses integer hashes and correctly
// rounded IEEE operations, so both give the same bits. Compile with contraction off.
#pragma once

#include "fuzz/genome.hpp"
#include "reference/hash/draws.hpp"
#include "reference/oracle/fast_exp.hpp"

namespace assay::fuzz {

/// A genome, and what is computed from it once per batch of rows.
struct PreparedGenome {
  Base base;
  std::int32_t stretches;
  double offset, spread, gap, grid, inverse_grid, limit;
  std::uint64_t seed;
  std::int64_t V, period, step, shift;  // the permuted column is (i step + shift) mod V
  std::int64_t span;                    // range of `powers` and `neighbours`
  Stretch stretch[kMostStretches];
};

ASSAY_HOST_DEVICE std::uint32_t float_bits(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
ASSAY_HOST_DEVICE float float_of(std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(b);
#else
  return std::bit_cast<float>(b);
#endif
}

/// Bits of the value of a 16-bit format nearest to x, ties to even, by fp32 bit operations. f16: 11 bits of
/// precision, exponents from -14. bf16: 8 bits, exponents from -126. Overflows to infinity; NaN becomes the
/// quiet NaN.
ASSAY_HOST_DEVICE std::uint16_t f16_bits(float x) {
  const std::uint32_t b = float_bits(x), sign = b >> 16 & 0x8000, abs = b & 0x7fffffff;
  if (abs > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (abs >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and above
  if (abs < 0x33000001) return static_cast<std::uint16_t>(sign);            // 2^-25 and below
  const int e = static_cast<int>(abs >> 23) - 127;
  const std::uint32_t significand = (abs & 0x7fffff) | 0x800000;
  const int drop = e >= -14 ? 13 : 13 + (-14 - e);  // at most 24
  const std::uint32_t kept = significand >> drop, rest = significand & ((1u << drop) - 1),
                      half = 1u << (drop - 1);
  const std::uint32_t rounded = kept + ((rest > half || (rest == half && (kept & 1))) ? 1 : 0);
  // A normal number: the hidden bit adds one to the exponent field.
  return static_cast<std::uint16_t>(
      sign | (e >= -14 ? static_cast<std::uint32_t>(e + 14) * 1024 + rounded : rounded));
}
ASSAY_HOST_DEVICE std::uint16_t bf16_bits(float x) {
  const std::uint32_t b = float_bits(x);
  if ((b & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((b >> 16 & 0x8000) | 0x7fc0);
  return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}
ASSAY_HOST_DEVICE float f16_value(std::uint16_t b) {
  const std::uint32_t sign = (b & 0x8000u) << 16, e = b >> 10 & 31, m = b & 1023;
  if (e == 0) {
    const float v = static_cast<float>(m) * 0x1p-24f;
    return sign ? -v : v;
  }
  return float_of(sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13);
}

/// What the two functions below need to know of the format that stores the row.
template <Dtype kType>
struct Stored;
template <>
struct Stored<Dtype::f32> {
  using Bits = std::uint32_t;
  static constexpr Bits kSign = 0x80000000u, kInfinity = 0x7f800000u, kNan = 0x7fc00000u,
                        kLargest = 0x7f7fffffu;
  ASSAY_HOST_DEVICE static Bits bits(float x) { return float_bits(x); }
};
template <>
struct Stored<Dtype::f16> {
  using Bits = std::uint16_t;
  static constexpr Bits kSign = 0x8000, kInfinity = 0x7c00, kNan = 0x7e00, kLargest = 0x7bff;
  ASSAY_HOST_DEVICE static Bits bits(float x) { return f16_bits(x); }
};
template <>
struct Stored<Dtype::bf16> {
  using Bits = std::uint16_t;
  static constexpr Bits kSign = 0x8000, kInfinity = 0x7f80, kNan = 0x7fc0, kLargest = 0x7f7f;
  ASSAY_HOST_DEVICE static Bits bits(float x) { return bf16_bits(x); }
};

/// Bits of x in the format. The result is finite.
template <Dtype kType>
ASSAY_HOST_DEVICE typename Stored<kType>::Bits stored(double x, double limit) {
  x = x > limit ? limit : x < -limit ? -limit : x;
  return Stored<kType>::bits(static_cast<float>(x));
}

/// The value `steps` neighbours above the one with these bits, at most the largest finite value.
template <Dtype kType>
ASSAY_HOST_DEVICE typename Stored<kType>::Bits neighbour(typename Stored<kType>::Bits bits,
                                                         std::int64_t steps) {
  using S = Stored<kType>;
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<typename S::Bits>(~S::kSign));
  std::int64_t place = (bits & S::kSign ? -magnitude : magnitude) + steps;
  const auto largest = static_cast<std::int64_t>(S::kLargest);
  place = place > largest ? largest : place < -largest ? -largest : place;
  return static_cast<typename S::Bits>(place < 0 ? S::kSign | static_cast<std::uint32_t>(-place)
                                                 : static_cast<std::uint32_t>(place));
}

/// Uniform in [0, 1), a multiple of 2^-52.
ASSAY_HOST_DEVICE double unit(std::uint64_t h) {
  return static_cast<double>(static_cast<std::int64_t>(h >> 12)) * 0x1p-52;
}

/// The sum of four 16-bit uniforms: mean 0, variance 1 (to 2^-31), magnitude at most 3.47.
ASSAY_HOST_DEVICE double nearly_normal(std::uint64_t h) {
  const auto sum =
      static_cast<std::int64_t>((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48));
  return static_cast<double>(sum - 131070) * 0x1.bb67ae8584caap-16;  // sqrt(3) / 65536
}

/// The bits of the logit at (row, i).
template <Dtype kType>
ASSAY_HOST_DEVICE typename Stored<kType>::Bits logit_bits(const PreparedGenome& g, std::int64_t row,
                                                          std::int64_t i) {
  using S = Stored<kType>;
  for (int s = g.stretches - 1; s >= 0; --s) {  // the last stretch that covers the element applies
    const Stretch& t = g.stretch[s];
    if (t.rows >= 0 && row % 4 != t.rows) continue;
    std::int64_t at = i - (t.start < 0 ? g.V + t.start : t.start);
    if (at < 0) continue;
    if (t.period > 0) at %= t.period;
    if (at >= t.length) continue;
    switch (t.put) {
      case Put::value:
        return stored<kType>(t.value, g.limit);
      case Put::above:
        return stored<kType>(g.offset + t.value, g.limit);
      case Put::neg_inf:
        return static_cast<typename S::Bits>(S::kSign | S::kInfinity);
      case Put::pos_inf:
        return S::kInfinity;
      case Put::nan:
        return S::kNan;
      case Put::neg_zero:
        return S::kSign;
      case Put::subnormal:
        return 1;
      case Put::largest:
        return S::kLargest;
      case Put::lowest:
        return static_cast<typename S::Bits>(S::kSign | S::kLargest);
    }
  }
  const std::int64_t j = g.step == 1 && g.shift == 0 ? i : (i * g.step + g.shift) % g.V;
  const std::uint64_t of_row = mixed(g.seed + static_cast<std::uint64_t>(row) * 0xd1342543de82ef95);
  const std::uint64_t h = mixed(of_row ^ static_cast<std::uint64_t>(j));
  double v = 0;
  switch (g.base) {
    case Base::constant:
      break;
    case Base::normal:
      v = g.spread * nearly_normal(h);
      break;
    case Base::uniform:
      v = -(g.spread * unit(h));
      break;
    case Base::ramp:
      v = g.gap * static_cast<double>(j);
      break;
    case Base::staircase:
      v = g.gap * static_cast<double>(j / g.period);
      break;
    case Base::two_valued:
      v = h % 3 == 0 ? 0 : -g.gap;
      break;
    case Base::slices:
    case Base::tiles: {
      const std::int64_t part = g.base == Base::slices ? j % g.period : j / g.period;
      const auto level = static_cast<double>(
          static_cast<std::int32_t>(mixed(of_row + static_cast<std::uint64_t>(part)) % 5));
      v = -(g.gap * level) - g.spread * unit(h);
      break;
    }
    case Base::powers: {
      const std::int64_t e =
          static_cast<std::int64_t>((h & 0xfff) % static_cast<std::uint64_t>(g.span)) - g.span / 2;
      v = (1 + unit(h)) * fast::from_bits((e + 1023) << 52);
      if (h & 0x800) v = -v;
      break;
    }
    case Base::neighbours:
      return neighbour<kType>(
          stored<kType>(g.offset, g.limit),
          static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(2 * g.span + 1)) - g.span);
  }
  double x = g.offset + v;
  if (g.grid > 0) x = floor(x * g.inverse_grid) * g.grid;
  return stored<kType>(x, g.limit);
}

/// Computes the genes in the form that the element function needs.
PreparedGenome prepare(const Genome& g, Dtype dtype);

}  // namespace assay::fuzz
