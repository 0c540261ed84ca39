// The candidates of a row in shared memory: a block of kSelectThreads threads appends to them in any order,
// thins them out, sorts them. Nothing but the set of candidates decides what comes out, so the order does not
// matter.
#pragma once

#include "kernels/building_blocks/onepass_topk/bound.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// kRoom is a power of two and at least kSelectThreads.
template <int kRoom>
struct Buffer {
  static constexpr int kEach = kRoom / kSelectThreads;  // candidates of a thread
  Candidate at[kRoom];
  int count;  // may pass kRoom: what is above found no room
  BoundShared bound;

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
  /// push() for a whole warp, each lane with a candidate or none. There must be room.
  __device__ __forceinline__ void push_lanes(bool has, Candidate c) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned lanes = __ballot_sync(kAllLanes, has);
    int first = 0;
    if (lane == 0 && lanes) first = atomicAdd(&count, __popc(lanes));
    first = __shfl_sync(kAllLanes, first, 0);
    if (has) at[first + __popc(lanes & ((1u << lane) - 1))] = c;
  }
  __device__ __forceinline__ int size() const { return count < kRoom ? count : kRoom; }

  /// Leaves only the candidates for which keep(c) is true. All threads must call it.
  template <class F>
  __device__ __forceinline__ void filter(F keep) {
    const int thread = static_cast<int>(threadIdx.x), n = size();
    Candidate own[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int slot = thread + i * kSelectThreads;
      own[i] = slot < n ? at[slot] : 0;
    }
    __syncthreads();  // all candidates and the count have been read
    if (thread == 0) count = 0;
    __syncthreads();  // the buffer is empty
#pragma unroll
    for (int i = 0; i < kEach; ++i) push_lanes(own[i] != 0 && keep(own[i]), own[i]);
    __syncthreads();  // all are back
  }

  /// Drops most candidates that are not among the k best. All threads must call it; k candidates are there.
  template <class T>
  __device__ __forceinline__ void thin(int k) {
    constexpr int kShift = kUnrankedBits<T>;
    const int n = size();
    unsigned ranks[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int slot = static_cast<int>(threadIdx.x) + i * kSelectThreads;
      ranks[i] = slot < n ? rank_of(at[slot]) >> kShift : 0;
    }
    const unsigned least = reached_by_block(ranks, k, k / 8, bound);
    filter([=](Candidate c) { return rank_of(c) >> kShift >= least; });
  }

  /// Sorts, best first, and fills up to a power of two with 0. All threads must call it.
  __device__ __forceinline__ void sort() {
    const int thread = static_cast<int>(threadIdx.x), n = size();
    int whole = 2;
    while (whole < n) whole *= 2;
    for (int i = n + thread; i < whole; i += kSelectThreads) at[i] = 0;
    for (int run = 2; run <= whole; run *= 2)
      for (int step = run / 2; step > 0; step /= 2) {
        __syncthreads();  // the step before has been done, or the buffer filled up
        for (int i = thread; i < whole / 2; i += kSelectThreads) {
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

  /// Sorts each list of 32, best first, and fills up the last one with 0. All threads must call it.
  __device__ __forceinline__ void sort_lists() {
    const int lane = static_cast<int>(threadIdx.x) % 32, n = size();
    for (int first = static_cast<int>(threadIdx.x) - lane; first < n; first += kSelectThreads) {
      Candidate own = first + lane < n ? at[first + lane] : 0;
#pragma unroll
      for (int run = 2; run <= 32; run *= 2)
#pragma unroll
        for (int step = run / 2; step > 0; step /= 2) {
          const Candidate other = __shfl_xor_sync(kAllLanes, own, step);
          const bool larger = ((lane & step) == 0) == ((lane & run) == 0);
          if ((other > own) == larger) own = other;
        }
      at[first + lane] = own;
    }
    __syncthreads();  // the lists are in order
  }
  /// How many candidates of sorted lists rank before c.
  __device__ __forceinline__ int before(Candidate c) const {
    int total = 0;
    for (int first = 0, n = size(); first < n; first += 32) {
      const Candidate* const list = at + first;
      int reach = 0;
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (list[reach + step - 1] > c) reach += step;
      total += reach + (list[reach] > c);
    }
    return total;
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
