// SPDX-License-Identifier: Apache-2.0
// The blocks that share a row. Their warps exchange (m, d) in one step, after which every warp has the row's
// value. Here: the merge that all teams share, and the team of one block. cluster.cuh: a cluster.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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
  struct Where {};
  struct Shared {
    Normalizer values[kMostWarps];
  };
  int rank = 0, blocks = 1;
  std::int64_t row;
  Shared& shared;
  __device__ __forceinline__ Alone(Where, Shared& s) : row(blockIdx.x), shared(s) {}

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own) const {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    if (lane == 0) shared.values[threadIdx.x / 32] = own;
    __syncthreads();  // every warp's value is there
    return merge_all<E>(shared.values, warps, lane);
  }
  __device__ __forceinline__ void end() const {}
};

}  // namespace assay::ASSAY_BACKEND::onepass
