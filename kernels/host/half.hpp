// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 for kernels compiled on the host. The names are CUDA's. Each operation rounds once, to
// nearest, ties to even. half_test.cpp compares them exhaustively with MPFR. cuda_core.hpp includes this file
// inside the backend's namespace, so that each host build has its own copy.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#ifndef ASSAY_BACKEND
#error "include kernels/building_blocks/backend.hpp"
#endif

namespace assay::ASSAY_BACKEND {

namespace half_bits {

inline float from_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
  const std::uint32_t rest = h & 0x7fff;
  // One exact multiplication moves the exponent from bias 15 to 127. It also normalises subnormals.
  float f = std::bit_cast<float>(rest << 13) * 0x1p112f;
  if (rest >= 0x7c00) f = std::bit_cast<float>(rest << 13 | 0x7f800000u);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) | sign);
}

inline std::uint16_t to_half(float f) {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(f);
  const std::uint16_t sign = static_cast<std::uint16_t>(b >> 16 & 0x8000);
  const std::uint32_t abs = b & 0x7fffffff;
  if (abs > 0x7f800000) return 0x7fff;                                      // NaN: CUDA's canonical one
  if (abs >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65520 and up round to infinity
  if (abs < 0x38800000) {
    // Below 2^-14 the result's unit is 2^-24: adding 0.5, whose ulp is 2^-24, rounds there in hardware.
    const float shifted = std::bit_cast<float>(abs) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = abs + 0xfff + (abs >> 13 & 1) - (112u << 23);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

inline float from_bfloat(std::uint16_t h) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
}

inline std::uint16_t to_bfloat(float f) {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(f);
  if ((b & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/// x rounded to odd in float. Rounding that float to 11 or 8 bits then gives the same as rounding x itself.
inline float odd_float(double x) {
  const float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || !std::isfinite(f)) return f;
  std::uint32_t b = std::bit_cast<std::uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(x)) b -= 1;  // truncate
  return std::bit_cast<float>(b | 1);
}

/// a * b + c for values of 16-bit formats, rounded to odd in float. The product is exact in double. The sum
/// may be inexact; then its exact error decides the odd bit.
inline float fused(double a, double b, double c) {
  const double p = a * b;
  const double s = p + c;
  if (!std::isfinite(s)) return static_cast<float>(s);
  const double t = s - p;
  const double error = (p - (s - t)) + (c - t);
  double odd = s;
  if (error != 0 && !(std::bit_cast<std::uint64_t>(s) & 1)) {
    // s is even and inexact: the odd neighbour on the error's side (s itself is never 0 here).
    const bool away = (error > 0) == (s > 0);
    odd = std::bit_cast<double>(std::bit_cast<std::uint64_t>(s) + (away ? 1 : std::uint64_t(-1)));
  }
  return odd_float(odd);
}

template <class T>
T as(int pattern) {
  T h;
  h.x = static_cast<std::uint16_t>(pattern);
  return h;
}

}  // namespace half_bits

struct __half {
  std::uint16_t x;
  __half() = default;
  __half(float f) : x(half_bits::to_half(f)) {}
  operator float() const { return half_bits::from_half(x); }
};
struct __nv_bfloat16 {
  std::uint16_t x;
  __nv_bfloat16() = default;
  __nv_bfloat16(float f) : x(half_bits::to_bfloat(f)) {}
  operator float() const { return half_bits::from_bfloat(x); }
};

inline float __half2float(__half h) { return h; }
inline __half __float2half(float f) { return f; }
inline __half __float2half_rn(float f) { return f; }
inline float __bfloat162float(__nv_bfloat16 h) { return h; }
inline __nv_bfloat16 __float2bfloat16(float f) { return f; }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return f; }
inline std::uint16_t __half_as_ushort(__half h) { return h.x; }
inline __half __ushort_as_half(std::uint16_t b) {
  __half h;
  h.x = b;
  return h;
}
inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 h) { return h.x; }
inline __nv_bfloat16 __ushort_as_bfloat16(std::uint16_t b) {
  __nv_bfloat16 h;
  h.x = b;
  return h;
}

namespace half_bits {
/// a or b, which differ: the one that is a number, or a if `first`. CUDA's canonical NaN if both are NaN.
template <class T>
inline T number(T a, T b, bool first) {
  const bool a_nan = float(a) != float(a), b_nan = float(b) != float(b);
  if (a_nan && b_nan) return as<T>(0x7fff);
  return b_nan || (first && !a_nan) ? a : b;
}
}  // namespace half_bits

// The sum, difference, product or quotient of two 16-bit values is first rounded to float, which has 24 bits.
// For p = 11 and 8, 24 >= 2 p + 2, so rounding it again to p bits gives the correctly rounded result.
#define ASSAY_HALF_OPERATIONS(T)                                                                      \
  inline T __hadd(T a, T b) { return T(float(a) + float(b)); }                                        \
  inline T __hsub(T a, T b) { return T(float(a) - float(b)); }                                        \
  inline T __hmul(T a, T b) { return T(float(a) * float(b)); }                                        \
  inline T __hdiv(T a, T b) { return T(float(a) / float(b)); }                                        \
  inline T __hneg(T a) { return T(-float(a)); }                                                       \
  inline T __hfma(T a, T b, T c) { return T(half_bits::fused(float(a), float(b), float(c))); }        \
  /* Equal values have equal bits, except zeros: +0 is above -0. A NaN loses against a number, also a \
   * signalling one. */                                                                               \
  inline T __hmax(T a, T b) {                                                                         \
    return float(a) == float(b) ? half_bits::as<T>(a.x & b.x)                                         \
                                : half_bits::number(a, b, float(a) > float(b));                       \
  }                                                                                                   \
  inline T __hmin(T a, T b) {                                                                         \
    return float(a) == float(b) ? half_bits::as<T>(a.x | b.x)                                         \
                                : half_bits::number(a, b, float(a) < float(b));                       \
  }                                                                                                   \
  inline bool __heq(T a, T b) { return float(a) == float(b); }                                        \
  inline bool __hlt(T a, T b) { return float(a) < float(b); }                                         \
  inline bool __hle(T a, T b) { return float(a) <= float(b); }                                        \
  inline bool __hgt(T a, T b) { return float(a) > float(b); }                                         \
  inline bool __hge(T a, T b) { return float(a) >= float(b); }                                        \
  inline bool __hisnan(T a) { return float(a) != float(a); }                                          \
  inline T hexp(T a) { return T(half_bits::odd_float(std::exp(static_cast<double>(float(a))))); }     \
  inline T hexp2(T a) { return T(half_bits::odd_float(std::exp2(static_cast<double>(float(a))))); }   \
  inline T hlog(T a) { return T(half_bits::odd_float(std::log(static_cast<double>(float(a))))); }     \
  inline T hrcp(T a) { return T(1.0f / float(a)); }

ASSAY_HALF_OPERATIONS(__half)
ASSAY_HALF_OPERATIONS(__nv_bfloat16)
#undef ASSAY_HALF_OPERATIONS

}  // namespace assay::ASSAY_BACKEND
