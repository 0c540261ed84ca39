// SPDX-License-Identifier: Apache-2.0
// CUDA's further functions for kernels from elsewhere: arithmetic, conversions that saturate, pairs of
// halves, bits and bytes, clocks, warp functions older than CUDA 9, atomics of a narrower or wider scope.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kernels/host/cuda_vectors.hpp"

namespace assay::ASSAY_BACKEND {

// ---- arithmetic ----

/// CUDA has min and max of every pair of arithmetic types. For floats they are fminf and fmaxf.
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !std::is_same_v<A, B>) constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return std::max<C>(static_cast<C>(a), static_cast<C>(b));
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
         !std::is_same_v<A, B>) constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return std::min<C>(static_cast<C>(a), static_cast<C>(b));
}
// As on a GPU, the result for a NaN and a number is the number. std::max would keep whichever comes first.
inline float max(float a, float b) { return fmaxf(a, b); }
inline float min(float a, float b) { return fminf(a, b); }
inline double max(double a, double b) { return ::fmax(a, b); }
inline double min(double a, double b) { return ::fmin(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }

inline float rsqrtf(float x) { return static_cast<float>(1.0 / ::sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float fdividef(float x, float y) { return x / y; }
inline float exp10f(float x) { return static_cast<float>(::pow(10.0, static_cast<double>(x))); }
inline float __exp10f(float x) { return ::exp2f(x * 0x1.a934f0p+1f); }
inline float __log2f(float x) { return ::log2f(x); }
inline float __log10f(float x) { return ::log2f(x) * 0x1.344136p-2f; }
inline float __powf(float x, float y) { return ::exp2f(y * ::log2f(x)); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffsll(long long v) {
  return v == 0 ? 0 : 1 + std::countr_zero(static_cast<unsigned long long>(v));
}
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1u) << (31 - i);
  return r;
}
inline float __half2float_rn(__half h) { return h; }

// ---- warp words from before CUDA 9: over all live lanes of the warp ----

#define ASSAY_OLD_SHUFFLE(name, A)                                                                  \
  template <class T>                                                                                \
  T name(T v, A argument, int width = 32, const executor::Site& site = executor::Site::current()) { \
    return name##_sync(~0u, v, argument, width, site);                                              \
  }
ASSAY_OLD_SHUFFLE(__shfl, int)
ASSAY_OLD_SHUFFLE(__shfl_up, unsigned)
ASSAY_OLD_SHUFFLE(__shfl_down, unsigned)
ASSAY_OLD_SHUFFLE(__shfl_xor, int)
#undef ASSAY_OLD_SHUFFLE
inline unsigned __ballot(int p, const executor::Site& site = executor::Site::current()) {
  return __ballot_sync(~0u, p, site);
}
inline int __all(int p, const executor::Site& site = executor::Site::current()) {
  return __all_sync(~0u, p, site);
}
inline int __any(int p, const executor::Site& site = executor::Site::current()) {
  return __any_sync(~0u, p, site);
}

// ---- f16 and bf16 ----

inline __half __double2half(double x) { return __half(half_bits::odd_float(x)); }
inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(half_bits::odd_float(x)); }

/// `name` of two halves, but if either is a NaN the result is the canonical NaN.
#define ASSAY_KEEPS_NAN(T, T2, name)                                           \
  inline T name##_nan(T a, T b) {                                              \
    return __hisnan(a) || __hisnan(b) ? half_bits::as<T>(0x7fff) : name(a, b); \
  }                                                                            \
  inline T2 name##2_nan(T2 a, T2 b) { return {name##_nan(a.x, b.x), name##_nan(a.y, b.y)}; }
ASSAY_KEEPS_NAN(__half, __half2, __hmax)
ASSAY_KEEPS_NAN(__half, __half2, __hmin)
ASSAY_KEEPS_NAN(__nv_bfloat16, __nv_bfloat162, __hmax)
ASSAY_KEEPS_NAN(__nv_bfloat16, __nv_bfloat162, __hmin)
#undef ASSAY_KEEPS_NAN

/// Comparisons that build on `h`, which is false for a NaN. Defined here: its unordered form, which is true
/// for a NaN, and both forms for pairs. The pair forms give 1 and 0, masks of 16 bits, or one answer for both
/// halves.
#define ASSAY_COMPARISON(T, T2, h, ONE)                                                                  \
  inline bool __h##h##u(T a, T b) { return __hisnan(a) || __hisnan(b) || __h##h(a, b); }                 \
  inline T2 __h##h##2(T2 a, T2 b) {                                                                      \
    return {half_bits::as<T>(__h##h(a.x, b.x) ? ONE : 0), half_bits::as<T>(__h##h(a.y, b.y) ? ONE : 0)}; \
  }                                                                                                      \
  inline T2 __h##h##u2(T2 a, T2 b) {                                                                     \
    return {half_bits::as<T>(__h##h##u(a.x, b.x) ? ONE : 0),                                             \
            half_bits::as<T>(__h##h##u(a.y, b.y) ? ONE : 0)};                                            \
  }                                                                                                      \
  inline unsigned __h##h##2_mask(T2 a, T2 b) {                                                           \
    return (__h##h(a.x, b.x) ? 0xffffu : 0u) | (__h##h(a.y, b.y) ? 0xffff0000u : 0u);                    \
  }                                                                                                      \
  inline unsigned __h##h##u2_mask(T2 a, T2 b) {                                                          \
    return (__h##h##u(a.x, b.x) ? 0xffffu : 0u) | (__h##h##u(a.y, b.y) ? 0xffff0000u : 0u);              \
  }                                                                                                      \
  inline bool __hb##h##2(T2 a, T2 b) { return __h##h(a.x, b.x) && __h##h(a.y, b.y); }                    \
  inline bool __hb##h##u2(T2 a, T2 b) { return __h##h##u(a.x, b.x) && __h##h##u(a.y, b.y); }
#define ASSAY_COMPARISONS(T, T2, ONE) \
  ASSAY_COMPARISON(T, T2, eq, ONE)    \
  ASSAY_COMPARISON(T, T2, ne, ONE)    \
  ASSAY_COMPARISON(T, T2, lt, ONE)    \
  ASSAY_COMPARISON(T, T2, le, ONE)    \
  ASSAY_COMPARISON(T, T2, gt, ONE)    \
  ASSAY_COMPARISON(T, T2, ge, ONE)
ASSAY_COMPARISONS(__half, __half2, 0x3c00)
ASSAY_COMPARISONS(__nv_bfloat16, __nv_bfloat162, 0x3f80)
#undef ASSAY_COMPARISONS
#undef ASSAY_COMPARISON

// ---- conversions ----

namespace words_detail {
/// Converts a whole number to I, clamped to the range of I. A NaN becomes 0; if F or I has 64 bits, it
/// becomes 2^(bits of I - 1).
template <class I, class F>
I saturated(F x) {
  if (x != x) return sizeof(I) < 8 && sizeof(F) < 8 ? I{0} : static_cast<I>(1ull << (8 * sizeof(I) - 1));
  // 2^(bits of I) or, if I is signed, half of it: exact in F.
  const F top = static_cast<F>(std::numeric_limits<I>::max() / 2 + 1) * 2;
  if (x >= top) return std::numeric_limits<I>::max();
  if (x <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  return static_cast<I>(x);
}
}  // namespace words_detail
#define ASSAY_TO_INTEGER(from, F, to, I)                                                       \
  inline I __##from##2##to##_rn(F x) { return words_detail::saturated<I>(std::nearbyint(x)); } \
  inline I __##from##2##to##_rz(F x) { return words_detail::saturated<I>(std::trunc(x)); }     \
  inline I __##from##2##to##_rd(F x) { return words_detail::saturated<I>(std::floor(x)); }     \
  inline I __##from##2##to##_ru(F x) { return words_detail::saturated<I>(std::ceil(x)); }
ASSAY_TO_INTEGER(float, float, int, int)
ASSAY_TO_INTEGER(float, float, uint, unsigned)
ASSAY_TO_INTEGER(float, float, ll, long long)
ASSAY_TO_INTEGER(float, float, ull, unsigned long long)
ASSAY_TO_INTEGER(double, double, int, int)
ASSAY_TO_INTEGER(double, double, uint, unsigned)
ASSAY_TO_INTEGER(double, double, ll, long long)
ASSAY_TO_INTEGER(double, double, ull, unsigned long long)
#undef ASSAY_TO_INTEGER
inline __half __int2half_rn(int x) { return __double2half(x); }
inline int __half2int_rn(__half h) { return __float2int_rn(h); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }

// ---- arithmetic in double: a product and a sum are never contracted to an FMA ----

inline double __dadd_rn(double a, double b) {
  volatile double r = a + b;
  return r;
}
inline double __dsub_rn(double a, double b) {
  volatile double r = a - b;
  return r;
}
inline double __dmul_rn(double a, double b) {
  volatile double r = a * b;
  return r;
}
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return ::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }

// ---- bits ----

/// Picks four of the eight bytes of y:x. The low three bits of each nibble of the selector choose a byte.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t both = std::uint64_t{y} << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i)
    r |= static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7u) & 0xffu) << 8 * i;
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (n & 31u) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (n & 31u));
}
/// A shift by more than 32 counts as a shift by 32.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned n) {
  return n >= 32 ? low : __funnelshift_l(low, high, n);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned n) {
  return n >= 32 ? high : __funnelshift_r(low, high, n);
}
/// Returns the position of the |offset|-th set bit of `mask`. Counting starts at bit `base` and goes up, or
/// down if `offset` is negative. Offset 0 returns `base` if that bit is set. Returns ~0u if there is no such
/// bit.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  const int step = offset < 0 ? -1 : 1;
  long long left = offset == 0 ? 1 : std::abs(static_cast<long long>(offset));
  for (long long at = base; at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) && --left == 0) return static_cast<unsigned>(at);
    if (offset == 0) break;
  }
  return ~0u;
}

// ---- clocks; clock() is the C library's ----

/// A counter that grows with every call. Its values are the same in every run.
inline long long clock64() {
  static thread_local long long ticks = 0;
  return ticks += 64;
}

// ---- atomics: block scope and system scope act like device scope ----

#define ASSAY_SCOPES(name)                           \
  template <class T>                                 \
  T name##_block(T* p, std::type_identity_t<T> v) {  \
    return name(p, v);                               \
  }                                                  \
  template <class T>                                 \
  T name##_system(T* p, std::type_identity_t<T> v) { \
    return name(p, v);                               \
  }
ASSAY_SCOPES(atomicAdd)
ASSAY_SCOPES(atomicSub)
ASSAY_SCOPES(atomicMax)
ASSAY_SCOPES(atomicMin)
ASSAY_SCOPES(atomicOr)
ASSAY_SCOPES(atomicAnd)
ASSAY_SCOPES(atomicXor)
ASSAY_SCOPES(atomicExch)
ASSAY_SCOPES(atomicInc)
ASSAY_SCOPES(atomicDec)
#undef ASSAY_SCOPES
template <class T>
T atomicCAS_block(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return atomicCAS(p, expected, v);
}
template <class T>
T atomicCAS_system(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return atomicCAS(p, expected, v);
}

}  // namespace assay::ASSAY_BACKEND
