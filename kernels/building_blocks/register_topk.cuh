// SPDX-License-Identifier: Apache-2.0
// Top-k with each thread's list in registers, for K slots known at compile time and blocks of any number of
// warps, as in the online softmax paper's benchmark. Order and ties are those of topk.cuh.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/topk.cuh"

namespace assay::ASSAY_BACKEND {

inline constexpr int kMostWarps = 8;

/// The K best elements of one thread, best first. Every slot index is a constant, so that nvcc keeps the list
/// in registers. An element is identified by the turn in which its thread read it: 32 bits are enough up to V
/// = 2^36.
template <int K>
struct RegisterList {
  int key[K];
  int turn[K];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < K; ++j) {
      key[j] = kNoKey;
      turn[j] = 0;
    }
  }
  /// Inserts x before everything smaller. Turns increase, so among equal keys the older element stays first.
  __device__ __forceinline__ void insert(float x, int at) {
    const int k = rank_key(x);
    if (k <= key[K - 1]) return;
#pragma unroll
    for (int j = K - 1; j > 0; --j) {
      const bool passes = k > key[j - 1], lands = k > key[j];
      turn[j] = passes ? turn[j - 1] : lands ? at : turn[j];
      key[j] = passes ? key[j - 1] : lands ? k : key[j];
    }
    if (k > key[0]) {
      key[0] = k;
      turn[0] = at;
    }
  }
  __device__ __forceinline__ void drop_first() {
#pragma unroll
    for (int j = 0; j + 1 < K; ++j) {
      key[j] = key[j + 1];
      turn[j] = turn[j + 1];
    }
    key[K - 1] = kNoKey;
  }
  __device__ __forceinline__ Ranked first() const {
    if (key[0] == kNoKey) return Best::neutral();
    return {key[0], static_cast<long long>(turn[0]) * static_cast<long long>(blockDim.x) + threadIdx.x};
  }
};

/// Calls f with the calling thread's elements of x[0..V), strided by the block, in order. Four loads are on
/// their way at a time. The paper's source has one load a turn; its insertion has no branches, so nvcc
/// unrolls its loop by four. Ours has one, and nvcc would leave a single load of four bytes in flight.
template <class T, class F>
__device__ __forceinline__ void four_ahead(const T* x, std::int64_t V, F f) {
  const std::int64_t step = blockDim.x;
  std::int64_t i = threadIdx.x;
  for (; i + 3 * step < V; i += 4 * step) {
    T four[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) four[j] = x[i + j * step];
#pragma unroll
    for (int j = 0; j < 4; ++j) f(to_float(four[j]));
  }
  for (; i < V; i += step) f(to_float(x[i]));
}

/// Merges the lists of a block, empties them, and writes the k <= K best: the index (-1 in slots past the
/// last element) and, through `put(slot, index)`, any other output. All threads must call it; at most
/// kMostWarps warps.
template <int K, class Put>
__device__ __forceinline__ void write_best_of(RegisterList<K>& list, int k, void* indices,
                                              std::int64_t first_index, bool wide, Put put) {
  ASSAY_SHARED(Ranked, of_warp, kMostWarps * K);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  for (int j = 0; j < k; ++j) {
    const Ranked mine = list.first();
    const Ranked best = warp_reduce<Best>(mine);
    if (best.index != kNoIndex && mine.index == best.index) list.drop_first();
    if (lane == 0) of_warp[warp * K + j] = best;
  }
  __syncthreads();  // all warps meet; of_warp is complete and readable by warp 0
  if (warp == 0) {
    int head = 0;
    for (int j = 0; j < k; ++j) {
      const Ranked mine = lane < warps && head < k ? of_warp[lane * K + head] : Best::neutral();
      const Ranked best = warps > 1 ? warp_reduce<Best>(mine) : of_warp[j];
      const bool empty = best.index == kNoIndex;
      if (!empty && mine.index == best.index) ++head;
      if (lane == 0) {
        store_index(indices, first_index + j, empty ? -1 : best.index, wide);
        put(j, empty ? -1 : best.index);
      }
    }
  }
  __syncthreads();  // all warps meet; the next row may overwrite of_warp only now that warp 0 has read it
}

/// The k best of each row of probabilities. They are written in the type `out`, f16 or f32.
template <int K>
__global__ void __launch_bounds__(32 * kMostWarps)
    topk_of_probs(Rows<const float> probs, void* values, Dtype out, std::int64_t out_pitch, void* indices,
                  int k, bool wide, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < probs.count; row += gridDim.x) {
    const float* p = probs.row(row);
    RegisterList<K> list;
    list.clear();
    int turn = 0;
    four_ahead(p, V, [&](float pi) { list.insert(pi, turn++); });
    const std::int64_t first = row * out_pitch;
    write_best_of(list, k, indices, first, wide, [=](int slot, long long i) {
      const float value = i < 0 ? 0.0f : p[i];
      if (out == Dtype::f16)
        static_cast<f16*>(values)[first + slot] = from_float<f16>(value);
      else
        static_cast<float*>(values)[first + slot] = value;
    });
  }
}

/// Calls f with the smallest list that has k slots: 5, 10, 15 or 30 as in the paper, or 64.
template <class F>
void with_list(int k, F f) {
  if (k <= 5)
    f(std::integral_constant<int, 5>{});
  else if (k <= 10)
    f(std::integral_constant<int, 10>{});
  else if (k <= 15)
    f(std::integral_constant<int, 15>{});
  else if (k <= 30)
    f(std::integral_constant<int, 30>{});
  else
    f(std::integral_constant<int, kMaxK>{});
}

}  // namespace assay::ASSAY_BACKEND
