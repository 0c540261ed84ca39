// SPDX-License-Identifier: Apache-2.0
// The slow way to select, for kernels that faults are planted in: one search a slot.
#pragma once

#include "kernels/building_blocks/topk.cuh"

namespace assay::ASSAY_BACKEND {

/// The best of a row's elements that rank after `last`. `mirrored`: of equal logits the larger column first.
/// All of the block's kThreads threads must call it.
template <int kThreads, class T>
__device__ Ranked next_best(const T* x, std::int64_t V, Ranked last, bool mirrored = false) {
  Ranked best = Best::neutral();
  for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
    const Ranked own{rank_key(to_float(x[i])), mirrored ? V - 1 - i : i};
    if (ranks_before(last, own)) best = Best::merge(best, own);
  }
  return block_reduce<Best, kThreads>(best);
}

}  // namespace assay::ASSAY_BACKEND
