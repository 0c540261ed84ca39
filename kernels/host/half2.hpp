// SPDX-License-Identifier: Apache-2.0
// What kernels use of f16 and bf16 beyond half.hpp: operators, each of which rounds once, and pairs of
// values.
#pragma once

#include "kernels/host/cuda_core.hpp"

namespace assay::ASSAY_BACKEND {

// If halves converted to float here, h + h would keep 24 bits. On a GPU a sum of halves is a half.
#define ASSAY_HALF_OPERATORS(T)                                                           \
  inline T operator+(T a, T b) { return __hadd(a, b); }                                   \
  inline T operator-(T a, T b) { return __hsub(a, b); }                                   \
  inline T operator*(T a, T b) { return __hmul(a, b); }                                   \
  inline T operator/(T a, T b) { return __hdiv(a, b); }                                   \
  inline T operator-(T a) { return __hneg(a); }                                           \
  inline T& operator+=(T& a, T b) { return a = __hadd(a, b); }                            \
  inline T& operator-=(T& a, T b) { return a = __hsub(a, b); }                            \
  inline T& operator*=(T& a, T b) { return a = __hmul(a, b); }                            \
  inline T& operator/=(T& a, T b) { return a = __hdiv(a, b); }                            \
  inline bool operator<(T a, T b) { return __hlt(a, b); }                                 \
  inline bool operator>(T a, T b) { return __hgt(a, b); }                                 \
  inline bool operator<=(T a, T b) { return __hle(a, b); }                                \
  inline bool operator>=(T a, T b) { return __hge(a, b); }                                \
  inline bool operator==(T a, T b) { return __heq(a, b); }                                \
  inline bool operator!=(T a, T b) { return !__heq(a, b); }                               \
  /* For a NaN, operator!= is true and __hne is false. */                                 \
  inline bool __hne(T a, T b) { return __hlt(a, b) || __hgt(a, b); }                      \
  inline int __hisinf(T a) { return std::isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0; } \
  inline T __habs(T a) { return T(std::fabs(float(a))); }                                 \
  inline T hsqrt(T a) { return T(std::sqrt(float(a))); }                                  \
  inline T hrsqrt(T a) { return T(half_bits::odd_float(1.0 / std::sqrt(static_cast<double>(float(a))))); }

ASSAY_HALF_OPERATORS(__half)
ASSAY_HALF_OPERATORS(__nv_bfloat16)
#undef ASSAY_HALF_OPERATORS

struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

#define ASSAY_PAIRS(T, T2)                                                                       \
  inline T2 __hadd2(T2 a, T2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }                 \
  inline T2 __hsub2(T2 a, T2 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }                 \
  inline T2 __hmul2(T2 a, T2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }                 \
  inline T2 __h2div(T2 a, T2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }                 \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                 \
  inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                 \
  inline T2 __hneg2(T2 a) { return {__hneg(a.x), __hneg(a.y)}; }                                 \
  inline T2 h2exp(T2 a) { return {hexp(a.x), hexp(a.y)}; }                                       \
  inline T2 h2exp2(T2 a) { return {hexp2(a.x), hexp2(a.y)}; }                                    \
  inline T2 h2log(T2 a) { return {hlog(a.x), hlog(a.y)}; }                                       \
  inline T2 h2rcp(T2 a) { return {hrcp(a.x), hrcp(a.y)}; }                                       \
  inline T2 operator+(T2 a, T2 b) { return __hadd2(a, b); }                                      \
  inline T2 operator-(T2 a, T2 b) { return __hsub2(a, b); }                                      \
  inline T2 operator*(T2 a, T2 b) { return __hmul2(a, b); }                                      \
  inline T2 operator/(T2 a, T2 b) { return __h2div(a, b); }                                      \
  inline T2& operator+=(T2& a, T2 b) { return a = a + b; }                                       \
  inline T2& operator-=(T2& a, T2 b) { return a = a - b; }                                       \
  inline T2& operator*=(T2& a, T2 b) { return a = a * b; }                                       \
  inline float __low2float(T2 a) { return a.x; }                                                 \
  inline float __high2float(T2 a) { return a.y; }                                                \
  inline T2 __lowhigh2highlow(T2 a) { return {a.y, a.x}; }

ASSAY_PAIRS(__half, __half2)
ASSAY_PAIRS(__nv_bfloat16, __nv_bfloat162)
#undef ASSAY_PAIRS

inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
inline float2 __half22float2(__half2 a) { return {a.x, a.y}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return {__nv_bfloat16(a.x), __nv_bfloat16(a.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x, a.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }

using half = __half;
using half2 = __half2;
using __nv_half = __half;
using nv_half = __half;
using nv_half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

}  // namespace assay::ASSAY_BACKEND
