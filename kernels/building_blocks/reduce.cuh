// SPDX-License-Identifier: Apache-2.0
// Reductions over a warp and over a block; one pattern serves sum, maximum and ⊕. A reduction is a type with
// `T neutral()` and `T merge(T, T)`. merge is commutative bit for bit, so every lane ends with the same
// value.
#pragma once

#include "kernels/building_blocks/normalizer.cuh"

namespace assay::ASSAY_BACKEND {

inline constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float shuffle_xor(float v, int lanes) {
  return __shfl_xor_sync(kAllLanes, v, lanes);
}
__device__ __forceinline__ f16 shuffle_xor(f16 v, int lanes) { return __shfl_xor_sync(kAllLanes, v, lanes); }
__device__ __forceinline__ bf16 shuffle_xor(bf16 v, int lanes) {
  return __shfl_xor_sync(kAllLanes, v, lanes);
}
__device__ __forceinline__ Normalizer shuffle_xor(Normalizer v, int lanes) {
  unsigned long long word;  // both halves are exchanged together
  memcpy(&word, &v, sizeof word);
  word = __shfl_xor_sync(kAllLanes, word, lanes);
  memcpy(&v, &word, sizeof v);
  return v;
}

struct Sum {
  using T = float;
  __device__ __forceinline__ static float neutral() { return 0.0f; }
  __device__ __forceinline__ static float merge(float a, float b) { return a + b; }
};
/// The maximum ignores NaN. The sum still becomes NaN, because exp(NaN - m) is NaN.
struct Max {
  using T = float;
  __device__ __forceinline__ static float neutral() { return negative_infinity(); }
  __device__ __forceinline__ static float merge(float a, float b) { return fmaxf(a, b); }
};
template <class E>
struct Combine {
  using T = Normalizer;
  __device__ __forceinline__ static Normalizer neutral() { return identity(); }
  __device__ __forceinline__ static Normalizer merge(Normalizer a, Normalizer b) { return combine<E>(a, b); }
};

/// Every lane of the warp gets the merge of all 32 values, 5 merges deep. All 32 lanes must call it.
template <class R>
__device__ __forceinline__ typename R::T warp_reduce(typename R::T v) {
  for (int lanes = 16; lanes > 0; lanes /= 2) v = R::merge(v, shuffle_xor(v, lanes));
  return v;
}

/// Every thread of the block gets the merge of all values. All threads must call it; kThreads is a multiple
/// of 32. 5 + ceil(log2(kThreads / 32)) merges deep, without the merges with the neutral value.
template <class R, int kThreads>
__device__ typename R::T block_reduce(typename R::T v) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024);
  constexpr int kWarps = kThreads / 32;
  using T = typename R::T;
  ASSAY_SHARED(T, partial, kWarps);
  ASSAY_SHARED(T, total, 1);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  v = warp_reduce<R>(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();  // all warps meet; partial[] is complete and readable by warp 0
  if (warp == 0) {
    v = warp_reduce<R>(lane < kWarps ? partial[lane] : R::neutral());
    if (lane == 0) total[0] = v;
  }
  // All warps meet; total is readable by every thread. The next reduction writes partial[] only after this
  // point, when warp 0 has read it. It writes total only after its own first barrier, when all threads have
  // read total.
  __syncthreads();
  return total[0];
}

/// Number of merges from a thread's value to the result of block_reduce.
constexpr std::int64_t block_levels(int threads) {
  std::int64_t levels = 5;
  for (int warps = threads / 32; warps > 1; warps = (warps + 1) / 2) ++levels;
  return levels;
}
/// Number of additions from a leaf to the result of block_reduce over V strided elements.
constexpr std::int64_t block_height(std::int64_t V, int threads) {
  return ceil_div(V, threads) + block_levels(threads);
}

}  // namespace assay::ASSAY_BACKEND
