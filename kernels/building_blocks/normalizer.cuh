// SPDX-License-Identifier: Apache-2.0
// The normalizer (m, d) of a set of logits, d = sum of exp(x - m), and the operator ⊕ that merges two of
// them. The select form rescales only the side with the smaller maximum. It is commutative bit for bit, with
// or without contraction, so a butterfly reduction leaves the same d in every lane.
#pragma once

#include "kernels/building_blocks/backend.hpp"

namespace assay::ASSAY_BACKEND {

struct alignas(8) Normalizer {
  float m, d;
};

__device__ __forceinline__ float negative_infinity() { return __int_as_float(static_cast<int>(0xff800000u)); }
__device__ __forceinline__ float positive_infinity() { return __int_as_float(0x7f800000); }
__device__ __forceinline__ float quiet_nan() { return __int_as_float(0x7fc00000); }

/// The exp of a variant, as a type with one function, so that ⊕ and its reductions are written only once.
struct AccurateExp {
  __device__ __forceinline__ static float of(float t) { return expf(t); }
};
struct FastExp {
  __device__ __forceinline__ static float of(float t) { return __expf(t); }
};

inline constexpr float kLog2e = 0x1.715476p+0f;  // log2 e, off by 0.2241 u
/// e^t as 2^(t log2e), with the product rounded: relative error |t| times 1.2241 u.
struct Exp2OfProduct {
  __device__ __forceinline__ static float of(float t) { return exp2f(t * kLog2e); }
};
/// e^(x - m) with one rounding of the argument; scaled_m = fl(m log2e). The rounding of scaled_m multiplies
/// the result by a factor that is the same for every x of a row. Divide it only by sums made with this
/// function.
__device__ __forceinline__ float exp2_shifted(float x, float scaled_m) {
  return exp2f(fmaf(x, kLog2e, -scaled_m));
}

__device__ __forceinline__ Normalizer identity() { return {negative_infinity(), 0.0f}; }

/// The normalizer of one logit: (x, 1), or the identity if x is -inf. +inf and NaN have no finite normalizer.
/// Their d is NaN from the start, so that a row with one of them is NaN everywhere.
__device__ __forceinline__ Normalizer leaf(float x) {
  if (x == negative_infinity()) return identity();
  return {x, 1.0f + (x - x)};
}

/// a ⊕ b. m is the larger maximum, or NaN if either is NaN. d = d_hi + d_lo exp(m_lo - m_hi).
template <class E = AccurateExp>
__device__ __forceinline__ Normalizer combine(Normalizer a, Normalizer b) {
  const bool a_high = a.m > b.m || a.m != a.m;
  const Normalizer high = a_high ? a : b;
  const Normalizer low = a_high ? b : a;
  if (low.m == negative_infinity()) return high;  // the identity; also avoids (-inf) - (-inf)
  // m_hi - m_hi is 0 for a finite maximum and NaN for +inf.
  return {high.m, high.d + low.d * E::of(low.m - high.m) + (high.m - high.m)};
}

}  // namespace assay::ASSAY_BACKEND
