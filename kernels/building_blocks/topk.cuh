// SPDX-License-Identifier: Apache-2.0
// Top-k selection: a strict total order on (logit, index), a sorted list per thread, and the merge of a
// block's lists. Of equal logits the smaller index ranks first; -0 equals +0; NaN ranks last.
#pragma once

#include "kernels/building_blocks/reduce.cuh"

namespace assay::ASSAY_BACKEND {

inline constexpr int kMaxK = 64;

/// A logit as an integer with the same order, and its position.
struct Ranked {
  int key;
  long long index;
};

inline constexpr int kNoKey = static_cast<int>(0x80000000u);  // an empty slot: ranks after everything
inline constexpr int kNanKey = kNoKey + 1;
inline constexpr long long kNoIndex = 0x7fffffffffffffffll;

__device__ __forceinline__ int rank_key(float x) {
  if (x != x) return kNanKey;
  if (x == 0.0f) return 0;
  const int b = __float_as_int(x);
  return b >= 0 ? b : b ^ 0x7fffffff;
}

__device__ __forceinline__ bool ranks_before(Ranked a, Ranked b) {
  return a.key > b.key || (a.key == b.key && a.index < b.index);
}

/// The k best of what one thread has read, best first. An insertion drops the last slot, as in the paper's K
/// + 1 list.
struct ThreadList {
  int key[kMaxK];
  long long index[kMaxK];

  __device__ void clear(int k) {
    for (int j = 0; j < k; ++j) {
      key[j] = kNoKey;
      index[j] = kNoIndex;
    }
  }
  __device__ void insert(float x, long long i, int k) {
    const Ranked r{rank_key(x), i};
    if (!ranks_before(r, {key[k - 1], index[k - 1]})) return;
    int j = k - 1;
    for (; j > 0 && ranks_before(r, {key[j - 1], index[j - 1]}); --j) {
      key[j] = key[j - 1];
      index[j] = index[j - 1];
    }
    key[j] = r.key;
    index[j] = r.index;
  }
};

__device__ __forceinline__ Ranked shuffle_xor(Ranked v, int lanes) {
  return {__shfl_xor_sync(kAllLanes, v.key, lanes), __shfl_xor_sync(kAllLanes, v.index, lanes)};
}
struct Best {
  using T = Ranked;
  __device__ __forceinline__ static Ranked neutral() { return {kNoKey, kNoIndex}; }
  __device__ __forceinline__ static Ranked merge(Ranked a, Ranked b) { return ranks_before(b, a) ? b : a; }
};

__device__ __forceinline__ void store_index(void* indices, std::int64_t at, long long index, bool wide) {
  if (wide)
    static_cast<long long*>(indices)[at] = index;
  else
    static_cast<int*>(indices)[at] = static_cast<int>(index);
}

/// Merges the lists of a block. First every warp merges its lanes' lists in k rounds: each lane offers the
/// head of its list, and the best is kept in shared memory. Then warp 0 merges the warps' lists in the same
/// way, and its lane 0 writes the index and `value_of(index)`. Slots past the last element get index -1 and
/// value 0. All threads must call it.
template <int kThreads, class T, class ValueOf>
__device__ void write_best(const ThreadList& list, int k, T* values, void* indices, std::int64_t first_index,
                           bool wide, ValueOf value_of) {
  constexpr int kWarps = kThreads / 32;
  ASSAY_SHARED(Ranked, of_warp, kWarps * kMaxK);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int head = 0;
  for (int j = 0; j < k; ++j) {
    const Ranked mine = head < k ? Ranked{list.key[head], list.index[head]} : Best::neutral();
    const Ranked best = warp_reduce<Best>(mine);
    if (best.index != kNoIndex && mine.index == best.index) ++head;
    if (lane == 0) of_warp[warp * kMaxK + j] = best;
  }
  __syncthreads();  // all warps meet; of_warp is complete and readable by warp 0
  if (warp == 0) {
    head = 0;
    for (int j = 0; j < k; ++j) {
      const Ranked mine = lane < kWarps && head < k ? of_warp[lane * kMaxK + head] : Best::neutral();
      const Ranked best = warp_reduce<Best>(mine);
      const bool empty = best.index == kNoIndex;
      if (!empty && mine.index == best.index) ++head;
      if (lane == 0) {
        store_index(indices, first_index + j, empty ? -1 : best.index, wide);
        values[j] = empty ? from_float<T>(0.0f) : value_of(best.index);
      }
    }
  }
  __syncthreads();  // all warps meet; the next row may overwrite of_warp only now that warp 0 has read it
}

}  // namespace assay::ASSAY_BACKEND
