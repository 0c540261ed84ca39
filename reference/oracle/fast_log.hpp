// SPDX-License-Identifier: Apache-2.0
// ln x in fp64 with a proved error, one source for AVX2 and CUDA. The argument has at most 24 significant
// bits: every f32, f16 and bf16 value. The machine-checked part of the proof is in fast_log.gappa, the
// polynomial in fast_log.sollya. Every operation must round as written: compile with contraction off.
//
// x = 2^n m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 atanh(s), s = (m - 1) / (m + 1). m has 24 bits, so m
// - 1 and m + 1 are exact, and s has the error of one division. In ln m that error is multiplied by s
// atanh'(s) / atanh(s) <= 1.021 on |s| <= 0.17158. This gives 1.03 2^-53 relative, the hypothesis of the
// .gappa file. For n = 0 the result is 2 s + s^3 Q(s^2) alone; for any other n it is at least 0.3465 in
// magnitude.
#pragma once

#include "reference/oracle/fast_exp.hpp"

namespace assay::fast {

/// Relative error of log() below.
inline constexpr double kLogError = 0x1p-51;

/// ln(x) (1 + e) with |e| <= kLogError, for a normal finite x > 0 of at most 24 significant bits. log(1) is
/// exactly 0.
ASSAY_HOST_DEVICE double log(double x) {
  constexpr double kLn2High = 0x1.62e42fefa38p-1;
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  constexpr std::int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  // The distance of the exponent field from that of sqrt(1/2): as an integer, and as a double through the low
  // bits of 1.5 2^52.
  const std::int64_t n_bits = (bits_of(x) - kSqrtHalf) & ~std::int64_t{0xfffffffffffff};
  const double m = from_bits(bits_of(x) - n_bits);
  const double n = from_bits(0x4338000000000000 + (n_bits >> 52)) - 0x1.8p52;
  const double s = (m - 1) / (m + 1);
  const double z = s * s;

  // 2 atanh(s) = 2 s + s^3 Q(s^2), with Q by Horner's scheme.
  double q = 0x1.101e903bcb855p-3;
  q = fma(q, z, 0x1.0f4a9be5a32e4p-3);
  q = fma(q, z, 0x1.3b2153d48de73p-3);
  q = fma(q, z, 0x1.745cdb9028219p-3);
  q = fma(q, z, 0x1.c71c725c1a07p-3);
  q = fma(q, z, 0x1.249249242f0a3p-2);
  q = fma(q, z, 0x1.9999999999d58p-2);
  q = fma(q, z, 0x1.5555555555555p-1);
  const double cube = s * z;
  const double tail = fma(n, kLn2Low, cube * q);
  return fma(n, kLn2High, 2 * s + tail);
}

}  // namespace assay::fast
