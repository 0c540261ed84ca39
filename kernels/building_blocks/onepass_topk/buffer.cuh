// SPDX-License-Identifier: Apache-2.0
// The candidates of a row in shared memory: a block appends to them in any order, thins them out,
// sorts them. Nothing but the set of candidates decides what comes out, so the order does not
// matter.
#pragma once

#include "kernels/building_blocks/onepass_topk/order.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// For blocks of kThreads threads. kRoom is a power of two and at least kThreads.
template <int kRoom, int kThreads>
struct Buffer {
  static constexpr int kEach = kRoom / kThreads;  // candidates of a thread
  alignas(16) Candidate at[kRoom];
  int count;  // may pass kRoom: what is above found no room
  BoundShared<kThreads> bound;
  OrderShared<kThreads> order;

  /// False if there was no room.
  __device__ __forceinline__ bool push(Candidate c) {
    const int slot = atomicAdd(&count, 1);
    if (slot < kRoom) at[slot] = c;
    return slot < kRoom;
  }
  /// Appends of(i) for each bit i of `mask`. False if there was no room for all.
  template <class F>
  __device__ __forceinline__ bool push_each(unsigned mask, F of) {
    if (!mask) return true;
    const int more = __popc(mask);
    int slot = atomicAdd(&count, more);
    const bool room = slot + more <= kRoom;
    for (; mask && slot < kRoom; mask &= mask - 1) at[slot++] = of(__ffs(static_cast<int>(mask)) - 1);
    return room;
  }
  /// push() for a whole warp, each lane with a candidate or none.
  __device__ __forceinline__ bool push_lanes(bool has, Candidate c) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned lanes = __ballot_sync(kAllLanes, has);
    int first = 0;
    if (lane == 0 && lanes) first = atomicAdd(&count, __popc(lanes));
    const int slot = __shfl_sync(kAllLanes, first, 0) + __popc(lanes & ((1u << lane) - 1));
    if (!has) return true;
    if (slot < kRoom) at[slot] = c;
    return slot < kRoom;
  }
  __device__ __forceinline__ int size() const { return count < kRoom ? count : kRoom; }

  /// Leaves only the candidates for which keep(c) is true. All threads must call it.
  template <class F>
  __device__ __forceinline__ void filter(F keep) {
    const int thread = static_cast<int>(threadIdx.x), n = size();
    Candidate own[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int slot = thread + i * kThreads;
      own[i] = slot < n ? at[slot] : 0;
    }
    __syncthreads();  // all candidates and the count have been read
    if (thread == 0) count = 0;
    __syncthreads();  // the buffer is empty
#pragma unroll
    for (int i = 0; i < kEach; ++i) push_lanes(own[i] != 0 && keep(own[i]), own[i]);
    __syncthreads();  // all are back
  }

  /// Sorts, best first, and fills up to a power of two with 0. All threads must call it.
  __device__ __forceinline__ void sort() {
    const int thread = static_cast<int>(threadIdx.x), n = size();
    int whole = 2;
    while (whole < n) whole *= 2;
    for (int i = n + thread; i < whole; i += kThreads) at[i] = 0;
    for (int run = 2; run <= whole; run *= 2)
      for (int step = run / 2; step > 0; step /= 2) {
        __syncthreads();  // the step before has been done, or the buffer filled up
        for (int i = thread; i < whole / 2; i += kThreads) {
          const int low = 2 * i - (i & (step - 1)), high = low + step;
          const Candidate a = at[low], b = at[high];
          if ((a < b) == ((low & run) == 0)) {
            at[low] = b;
            at[high] = a;
          }
        }
      }
    __syncthreads();  // sorted
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
