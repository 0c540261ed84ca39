// SPDX-License-Identifier: Apache-2.0
// Merges the results of the threads of a block.
#pragma once

namespace assay {

/// Merges every thread's `own` into `*total`, by a tree over the block's kThreads threads. Every thread must
/// call it.
template <int kThreads, class Stats>
__device__ void merge_over_block(const Stats& own, Stats* total) {
  // Shared variables may not have initialisers, which Stats has, so this is raw memory.
  __shared__ __align__(16) unsigned char memory[sizeof(Stats) * kThreads];
  Stats* all = reinterpret_cast<Stats*>(memory);
  all[threadIdx.x] = own;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();  // what the other half has merged so far is visible
    if (threadIdx.x < half) all[threadIdx.x].merge(all[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) total->merge(all[0]);
}

}  // namespace assay
