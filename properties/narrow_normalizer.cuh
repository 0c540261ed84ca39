// SPDX-License-Identifier: Apache-2.0
// The normalizer (m, d) kept in a 16-bit format: the select form of kernels/building_blocks/normalizer.cuh
// with hexp, and every operation rounded to the format. No variant merges in 16 bits. The properties ask what
// ⊕ would still promise if one did.
#pragma once

#include "kernels/building_blocks/reduce.cuh"

namespace assay::ASSAY_BACKEND {

template <class H>
struct alignas(4) NarrowNormalizer {
  H m, d;
};

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> narrow_identity() {
  return {from_float<H>(negative_infinity()), from_float<H>(0.0f)};
}

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> narrow_leaf(H x) {
  if (__heq(x, from_float<H>(negative_infinity()))) return narrow_identity<H>();
  return {x, __hadd(from_float<H>(1.0f), __hsub(x, x))};
}

template <class H>
struct NarrowCombine {
  using T = NarrowNormalizer<H>;
  __device__ __forceinline__ static T neutral() { return narrow_identity<H>(); }
  __device__ __forceinline__ static T merge(T a, T b) {
    const bool a_high = __hgt(a.m, b.m) || __hisnan(a.m);
    const T high = a_high ? a : b;
    const T low = a_high ? b : a;
    if (__heq(low.m, from_float<H>(negative_infinity()))) return high;
    const H sum = __hadd(high.d, __hmul(low.d, hexp(__hsub(low.m, high.m))));
    return {high.m, __hadd(sum, __hsub(high.m, high.m))};
  }
};

template <class H>
__device__ __forceinline__ NarrowNormalizer<H> shuffle_xor(NarrowNormalizer<H> v, int lanes) {
  unsigned word;  // both halves are exchanged together
  memcpy(&word, &v, sizeof word);
  word = __shfl_xor_sync(kAllLanes, word, lanes);
  memcpy(&v, &word, sizeof v);
  return v;
}

}  // namespace assay::ASSAY_BACKEND
