// SPDX-License-Identifier: Apache-2.0
// Rung 4: a cluster of 2 to 16 blocks holds a row. Every warp sends its (m, d) to every block of the cluster,
// and each block waits for its own copy of all of them. Nobody waits at a barrier of the cluster: on an H200,
// V = 131,072 in f32, such a barrier cost 9 % of the copy speed. It orders all memory accesses of a block;
// an mbarrier counts the bytes that were sent, and nothing else.
#pragma once

#include "kernels/building_blocks/onepass/barrier.cuh"
#include "kernels/building_blocks/onepass/team.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Most blocks of a cluster. A GPU promises 8; 16 must be allowed for each kernel.
inline constexpr int kMostBlocks = 16;

/// A cluster of `blocks` blocks per row. Compute capability 9.0.
struct Cluster {
  static constexpr int kBlocks = kMostBlocks;
  struct Where {
    int blocks;
  };
  struct Shared {
    Barrier arrived;
    Normalizer values[kMostBlocks * kMostWarps];
  };
  int rank, blocks;
  std::int64_t row;
  Shared& shared;

  __device__ __forceinline__ Cluster(Where w, Shared& s)
      : rank(static_cast<int>(blockIdx.x) % w.blocks),
        blocks(w.blocks),
        row(blockIdx.x / w.blocks),
        shared(s) {
    if (threadIdx.x == 0) {
      shared.arrived.start();
      shared.arrived.expect(blocks * static_cast<int>(blockDim.x / 32 * sizeof(Normalizer)));
    }
    cluster_arrive();  // waited for in merge
  }

  /// A block may end when it has got all values: nobody sends it anything after that.
  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __trap();  // never launched: gpu_for refuses code for older GPUs
    return own;
#else
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    cluster_wait();  // every barrier has been started
    if (lane < blocks) {
      std::uint64_t bits;
      memcpy(&bits, &own, sizeof bits);
      send(peer_address(shared_address(shared.values + rank * warps + threadIdx.x / 32), lane), bits,
           peer_address(shared.arrived.address(), lane));
    }
    shared.arrived.wait(0);
    return merge_all<E>(shared.values, blocks * warps, lane);
#endif
  }
  __device__ __forceinline__ void end() const {}
};

}  // namespace assay::ASSAY_BACKEND::onepass
