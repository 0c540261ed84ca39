// SPDX-License-Identifier: Apache-2.0
// Divides a whole row by one divisor, each quotient correctly rounded, in three operations instead of a
// dozen: product with the rounded reciprocal, exact remainder, one correction (Markstein, IBM J. Res. Dev.
// 34(1), 1990). `assay functions --quotients` compares all 2^46 pairs of f32 mantissas with IEEE division.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// If divisor and numerators lie within these, none of the three operations under- or overflows.
inline constexpr float kQuotientLow = 0x1p-60f, kQuotientHigh = 0x1p+60f;

struct RowDivisor {
  float d;
  float reciprocal;
  bool ordinary;
};

__device__ __forceinline__ RowDivisor row_divisor(float d) {
  return {d, 1.0f / d, d >= kQuotientLow && d <= kQuotientHigh};
}

/// a / d, if the divisor is ordinary and a is within [kQuotientLow, kQuotientHigh].
__device__ __forceinline__ float ordinary_quotient(float a, const RowDivisor& by) {
  const float q = __fmul_rn(a, by.reciprocal);
  return fmaf(fmaf(-q, by.d, a), by.reciprocal, q);
}

/// Divides the numerators by d, for output type T. Quotients are correctly rounded. Exception: a quotient far
/// below the smallest f16 number may be another tiny number. Numerators are NaN or >= 0. d is at least the
/// largest of them, because it is their sum or a sum of exps of at most 1. So for an ordinary d no numerator
/// is too large.
template <class T, int N>
__device__ __forceinline__ void divide_chunk(Chunk<N>& c, const RowDivisor& by) {
  bool all_ordinary = by.ordinary;
  if constexpr (!std::is_same_v<T, f16>) {
    // fminf ignores NaN: a NaN element may take either branch and stays NaN.
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
