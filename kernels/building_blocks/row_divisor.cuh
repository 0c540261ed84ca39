// Division of a whole row by one divisor, each quotient correctly rounded, in three operations instead of a
// dozen: a product with the rounded reciprocal, the exact remainder, one correction (Markstein, IBM J. Res.
// Dev. 34(1), 1990). `assay functions --quotients` compares all 2^46 pairs of f32 mantissas with IEEE
// division.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// Nothing under- or overflows in the three operations where divisor and numerators lie within these.
inline constexpr float kQuotientLow = 0x1p-60f, kQuotientHigh = 0x1p+60f;

struct RowDivisor {
  float d;
  float reciprocal;
  bool ordinary;
};

__device__ __forceinline__ RowDivisor row_divisor(float d) {
  return {d, 1.0f / d, d >= kQuotientLow && d <= kQuotientHigh};
}

/// a / d, for an ordinary divisor and a within [kQuotientLow, kQuotientHigh].
__device__ __forceinline__ float ordinary_quotient(float a, const RowDivisor& by) {
  const float q = __fmul_rn(a, by.reciprocal);
  return fmaf(fmaf(-q, by.d, a), by.reciprocal, q);
}

/// Numerators over d, as a T's output: correctly rounded, or in f16, where both are far below its smallest
/// number, by some other tiny number. They are NaN or not negative, and d is at least their largest, as a sum
/// over them or over exps of at most 1 is: below an ordinary d none is too large.
template <class T, int N>
__device__ __forceinline__ void divide_chunk(Chunk<N>& c, const RowDivisor& by) {
  bool all_ordinary = by.ordinary;
  if constexpr (!std::is_same_v<T, f16>) {
    // fminf drops NaN: an element that is NaN goes through either way and stays NaN.
    float low = c.x[0];
#pragma unroll
    for (int j = 1; j < N; ++j) low = fminf(low, c.x[j]);
    all_ordinary = all_ordinary && low >= kQuotientLow;
  }
  if (all_ordinary) {
#pragma unroll
    for (int j = 0; j < N; ++j) c.x[j] = ordinary_quotient(c.x[j], by);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) c.x[j] = c.x[j] / by.d;
  }
}

}  // namespace assay::ASSAY_BACKEND
