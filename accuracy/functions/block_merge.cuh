// How the threads of a block bring together what each has gathered.
#pragma once

namespace assay {

/// Merges every thread's `own` into `*total`, by a tree over the block's kThreads threads. All of them call it.
template <int kThreads, class Stats>
__device__ void merge_over_block(const Stats& own, Stats* total) {
  // Stats has initialisers, which shared variables may not.
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
