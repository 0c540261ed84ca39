// SPDX-License-Identifier: Apache-2.0
// A candidate of a top-k selection as one word of 64 bits, so that one comparison decides value and index,
// and the thresholds that keep most elements from becoming candidates.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"
#include "kernels/building_blocks/topk.cuh"

// A call, so that what is rarely done takes no registers of what is always done.
#if defined(__CUDACC__)
#define ASSAY_RARE __device__ __noinline__
#else
#define ASSAY_RARE inline
#endif

namespace assay::ASSAY_BACKEND::onepass {

/// The larger word ranks first: the rank of the logit above, the complement of its column below. -0 and +0
/// have one rank. 0 is no candidate.
using Candidate = unsigned long long;

/// The rank of a logit, as an unsigned number.
__device__ __forceinline__ unsigned unsigned_rank(float x) {
  return static_cast<unsigned>(rank_key(x)) ^ 0x80000000u;
}
/// The logit of a rank; +0 for both zeros.
__device__ __forceinline__ float ranked_logit(unsigned rank) {
  const auto key = static_cast<int>(rank ^ 0x80000000u);
  return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
}
__device__ __forceinline__ Candidate candidate(float x, unsigned column) {
  return static_cast<Candidate>(unsigned_rank(x)) << 32 | ~column;
}
__device__ __forceinline__ unsigned rank_of(Candidate c) { return static_cast<unsigned>(c >> 32); }
__device__ __forceinline__ unsigned column_of(Candidate c) { return ~static_cast<unsigned>(c); }

/// The smallest number above x. NaN, which nothing reaches, if x is +inf.
__device__ __forceinline__ float next_above(float x) {
  if (x == positive_infinity()) return quiet_nan();
  if (x == 0.0f) return __int_as_float(1);
  const int b = __float_as_int(x);
  return __int_as_float(b >= 0 ? b + 1 : b - 1);
}

/// Low bits of a rank that a threshold leaves out: it may be too low, and 16-bit logits do not have them.
template <class T>
inline constexpr int kUnrankedBits = sizeof(T) == 4           ? 8
                                     : std::is_same_v<T, f16> ? 13
                                                              : 16;

/// The largest logit that is certain to lie at or below what has this rank without its low bits. -inf if that
/// is the rank of no number. Of 16-bit logits it is the logit itself: their low bits are 0 in what is not
/// negative and, as ranks go, 1 in the rest. So a row of equal logits has a bound that none of them passes.
template <class T>
__device__ __forceinline__ float bound_of(unsigned short_rank) {
  unsigned rank = short_rank << kUnrankedBits<T>;
  if (sizeof(T) == 2 && rank < 0x80000000u) rank |= (1u << kUnrankedBits<T>)-1;
  return rank <= unsigned_rank(negative_infinity()) ? negative_infinity() : ranked_logit(rank);
}

}  // namespace assay::ASSAY_BACKEND::onepass
