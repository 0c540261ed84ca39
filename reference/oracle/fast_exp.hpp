// SPDX-License-Identifier: Apache-2.0
// e^t in fp64 with a proved error, one source for AVX2 and CUDA. It is the only transcendental function of
// the fast oracle tier. The proof is in FAST_TIER.md, its machine-checked part in fast_exp.gappa, the
// polynomial in fast_exp.sollya. Every operation must round as written: compile with contraction off.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__CUDACC__)
#define ASSAY_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define ASSAY_HOST_DEVICE inline __attribute__((always_inline))
#endif

namespace assay::fast {

/// Relative error of exp() below: 1.33 2^-53 is proved, 1.375 2^-53 is declared.
inline constexpr double kExpError = 0x1.6p-53;
/// The arguments of exp() lie here. Below kExpLowest, e^t is in [0, 2^-1021].
inline constexpr double kExpLowest = -708, kExpHighest = 709;

/// a b + c, rounded once.
ASSAY_HOST_DEVICE double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

/// The bits of a double, and back. Not every toolkit has std::bit_cast in device code.
ASSAY_HOST_DEVICE std::int64_t bits_of(double x) {
#if defined(__CUDA_ARCH__)
  return __double_as_longlong(x);
#else
  return std::bit_cast<std::int64_t>(x);
#endif
}
ASSAY_HOST_DEVICE double from_bits(std::int64_t b) {
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(b);
#else
  return std::bit_cast<double>(b);
#endif
}

/// e^(t + t_lo) (1 + e) with |e| <= kExpError, for kExpLowest <= t <= kExpHighest and |t_lo| <= 2^-43. exp(0)
/// is exactly 1. 21 floating-point operations, no branch, no table.
ASSAY_HOST_DEVICE double exp(double t, double t_lo = 0) {
  // n = t / ln 2 rounded to an integer, by adding 1.5 2^52. The low bits of the sum are n in two's
  // complement.
  constexpr double kShifter = 0x1.8p52;
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 42 bits: n kLn2High is exact, and so is t - n kLn2High
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  const double shifted = fma(t, kLog2E, kShifter);
  const double n = shifted - kShifter;
  const double r_hi = fma(n, -kLn2High, t);
  const double r_lo = fma(n, -kLn2Low, t_lo);
  const double r = r_hi + r_lo;

  // e^r = 1 + r + r^2 Q(r), with Q by Horner's scheme.
  double q = 0x1.1f86f02da59e6p-29;
  q = fma(q, r, 0x1.af4ec8740ac08p-26);
  q = fma(q, r, 0x1.27e4cfaf3f683p-22);
  q = fma(q, r, 0x1.71de01adc10d7p-19);
  q = fma(q, r, 0x1.a01a01ab9879cp-16);
  q = fma(q, r, 0x1.a01a01ac1dc6cp-13);
  q = fma(q, r, 0x1.6c16c16c156a5p-10);
  q = fma(q, r, 0x1.1111111110051p-7);
  q = fma(q, r, 0x1.5555555555557p-5);
  q = fma(q, r, 0x1.5555555555557p-3);
  q = fma(q, r, 0x1p-1);
  const double square = r * r;
  const double s = fma(square, q, r_lo);
  const double p = r_hi + s;
  const double y = 1 + p;

  // y 2^n. The shift keeps the low 12 bits of the sum, and n + 1023 is in [1, 2046].
  return y * from_bits((bits_of(shifted) + 1023) << 52);
}

}  // namespace assay::fast
