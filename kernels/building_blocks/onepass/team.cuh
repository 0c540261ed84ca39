// The blocks that share a row: one, or a cluster. Their warps exchange (m, d) in one step: every warp writes
// its value into the shared memory of every block of the cluster, and after one barrier every block has them
// all.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"
#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

namespace assay::ASSAY_BACKEND::onepass {

/// Most blocks of a cluster. A GPU promises 8; 16 must be allowed for each kernel.
inline constexpr int kMostBlocks = 16;
inline constexpr int kMostWarps = 32;

/// The merge of `count` values by one warp, `lane` being the caller's.
template <class E>
__device__ __forceinline__ Normalizer merge_all(const Normalizer* values, int count, int lane) {
  // Folded, so that a value of only -inf and NaN is not taken for the identity.
  Normalizer n = lane < count ? folded(values[lane]) : identity();
  for (int i = lane + 32; i < count; i += 32) n = combine<E>(n, folded(values[i]));
  return merge_lanes<E>(n);
}

/// One block per row.
struct Alone {
  static constexpr int kBlocks = 1;
  int rank = 0, blocks = 1;
  std::int64_t row, rows_at_once;
  __device__ __forceinline__ explicit Alone(int) : row(blockIdx.x), rows_at_once(gridDim.x) {}

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own, Normalizer* shared) const {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    if (lane == 0) shared[threadIdx.x / 32] = own;
    __syncthreads();  // every warp's value is there
    const Normalizer all = merge_all<E>(shared, warps, lane);
    return all;
  }
  /// No value of the next row is written before all threads have read those of this row.
  __device__ __forceinline__ void end_of_row() const { __syncthreads(); }
};

#if defined(__CUDACC__)
/// A cluster of `blocks` blocks per row. Compute capability 9.0.
struct Cluster {
  static constexpr int kBlocks = kMostBlocks;
  int rank, blocks;
  std::int64_t row, rows_at_once;
  __device__ __forceinline__ explicit Cluster(int size)
      : rank(static_cast<int>(blockIdx.x) % size),
        blocks(size),
        row(blockIdx.x / size),
        rows_at_once(gridDim.x / size) {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;");  // waited for in merge: all blocks have started
#endif
  }

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own, Normalizer* shared) const {
#if __CUDA_ARCH__ >= 900
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (lane < blocks)
      *cooperative_groups::this_cluster().map_shared_rank(shared + rank * warps + threadIdx.x / 32, lane) =
          own;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
    const Normalizer all = merge_all<E>(shared, blocks * warps, lane);
    // The values have been read. The next merge, or the end, waits for this. It stands before the outputs are
    // stored, because a release waits for stores.
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    return all;
#else
    __trap();  // never launched: gpu_for refuses code for older GPUs
    return own;
#endif
  }
  __device__ __forceinline__ void end_of_row() const {}  // merge has said it
  /// Every arrival needs its wait.
  __device__ __forceinline__ void end() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }
};
#endif

}  // namespace assay::ASSAY_BACKEND::onepass
