// SPDX-License-Identifier: Apache-2.0
// Reductions over a block whose number of threads is known only at launch: by a tree in shared memory, or by
// warp shuffles. R is a pattern of reduce.cuh.
#pragma once

#include "kernels/building_blocks/reduce.cuh"

namespace assay::ASSAY_BACKEND {

/// Every thread gets the merge of all values, by halving offsets over cells[blockDim.x], with a barrier each
/// round. All threads must call it; blockDim.x is a power of two. After one more barrier, `cells` may be
/// written again.
template <class R>
__device__ __forceinline__ typename R::T tree_reduce(typename R::T v, typename R::T* cells) {
  cells[threadIdx.x] = v;
  __syncthreads();  // all threads meet; cells[] is complete
  for (unsigned offset = blockDim.x / 2; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) cells[threadIdx.x] = R::merge(cells[threadIdx.x], cells[threadIdx.x + offset]);
    __syncthreads();  // all threads meet; the lower half holds the merges, and nobody reads the upper half
  }
  return cells[0];
}

/// Number of additions from a term to the result of tree_reduce; `own` of them are within a thread.
constexpr std::int64_t tree_height(std::int64_t own, int threads) {
  for (; threads > 1; threads /= 2) ++own;
  return own;
}

/// block_reduce for blockDim.x threads, a multiple of 32 up to 1024. It has the same height and the same
/// barriers.
template <class R>
__device__ typename R::T sized_reduce(typename R::T v) {
  using T = typename R::T;
  ASSAY_SHARED(T, partial, 32);
  ASSAY_SHARED(T, total, 1);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  v = warp_reduce<R>(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();  // all warps meet; partial[] is complete and readable by warp 0
  if (warp == 0) {
    v = warp_reduce<R>(lane < warps ? partial[lane] : R::neutral());
    if (lane == 0) total[0] = v;
  }
  __syncthreads();  // all warps meet; total is readable by every thread, and partial[] has been read
  return total[0];
}

/// Number of threads: `most`, or for a short row the smallest 32 x power of two that covers its V elements.
constexpr int threads_to_cover(std::int64_t V, int most) {
  int threads = 32;
  while (threads < most && threads < V) threads *= 2;
  return threads;
}

/// Number of threads of a block in the online softmax paper's benchmark: the largest power of two from 32 to
/// 256 that leaves every thread at least `least` elements. `least` is 8 for softmax, 16 with top-k.
constexpr int paper_threads(std::int64_t V, int least) {
  int threads = 32;
  while (threads < 256 && V / least >= 2 * threads) threads *= 2;
  return threads;
}

}  // namespace assay::ASSAY_BACKEND
