// Lower bounds of the k-th largest element of a row. A block of kSelectThreads threads divides what it has
// read into groups. The k-th largest of the groups' maxima is such a bound: each of k groups has an element
// at or above it. The elements above it number about k + k^2 / (2 x groups). One warp finds it, so that the
// other warps of the multiprocessor have the issue slots.
#pragma once

#include "kernels/building_blocks/onepass_topk/candidate.cuh"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kSelectThreads = 256;
inline constexpr int kSelectWarps = kSelectThreads / 32;
/// Largest k for which 32 groups are enough, and for which 256 are.
inline constexpr int kFewest = 16, kFew = 64;

struct BoundShared {
  alignas(16) unsigned ranks[2 * kSelectThreads];
  alignas(16) unsigned least[kSelectWarps], most[kSelectWarps];
  alignas(16) unsigned counts[2][kSelectWarps];
  float bound;
};

/// Bisection: a rank that at least k ranks reach, and at most k + slack of them, if there is one; else the
/// largest rank that at least k reach. `low` and `high`: the smallest and the largest rank. count(rank) is
/// how many reach it.
template <class Count>
__device__ __forceinline__ unsigned bisect(unsigned low, unsigned high, int k, int slack, Count count) {
  while (low < high) {
    const unsigned middle = low + (high - low) / 2 + 1;
    const int reach = count(middle);
    if (reach < k) {
      high = middle - 1;
    } else {
      low = middle;
      if (reach <= k + slack) break;
    }
  }
  return low;
}

template <int N>
__device__ __forceinline__ unsigned reaching(const unsigned (&ranks)[N], unsigned rank) {
  unsigned count = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) count += ranks[i] >= rank;
  return __reduce_add_sync(kAllLanes, count);
}
/// Smallest and largest rank of a warp.
struct Extremes {
  unsigned low, high;
  template <int N>
  __device__ __forceinline__ explicit Extremes(const unsigned (&ranks)[N]) : low(ranks[0]), high(ranks[0]) {
#pragma unroll
    for (int i = 1; i < N; ++i) {
      low = min(low, ranks[i]);
      high = max(high, ranks[i]);
    }
    low = __reduce_min_sync(kAllLanes, low);
    high = __reduce_max_sync(kAllLanes, high);
  }
};
/// bisect() of the ranks of a warp; k <= 32 N.
template <int N>
__device__ __forceinline__ unsigned reached_by(const unsigned (&ranks)[N], int k, int slack) {
  const Extremes e(ranks);
  return bisect(e.low, e.high, k, slack,
                [&](unsigned rank) { return static_cast<int>(reaching(ranks, rank)); });
}
/// The same of a block. All threads must call it, and meet at a barrier before the next call.
template <int N>
__device__ __forceinline__ unsigned reached_by_block(const unsigned (&ranks)[N], int k, int slack,
                                                     BoundShared& shared) {
  Extremes e(ranks);
  const bool first = threadIdx.x % 32 == 0;
  if (first) {
    shared.least[threadIdx.x / 32] = e.low;
    shared.most[threadIdx.x / 32] = e.high;
  }
  __syncthreads();  // all extremes are there
#pragma unroll
  for (int i = 0; i < kSelectWarps; ++i) {
    e.low = min(e.low, shared.least[i]);
    e.high = max(e.high, shared.most[i]);
  }
  int turn = 0;
  return bisect(e.low, e.high, k, slack, [&](unsigned rank) {
    const unsigned own = reaching(ranks, rank);
    if (first) shared.counts[turn][threadIdx.x / 32] = own;
    __syncthreads();  // all counts are there; the next turn writes others
    unsigned total = 0;
#pragma unroll
    for (int i = 0; i < kSelectWarps; ++i) total += shared.counts[turn][i];
    turn ^= 1;
    return static_cast<int>(total);
  });
}

/// The k-th largest of the ranks of a warp's lanes, or less; they lie in `ranks` too.
__device__ __forceinline__ unsigned kth_of_lanes(const unsigned* ranks, int k) {
  const unsigned own = ranks[threadIdx.x % 32];
  int as_large = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) as_large += ranks[i] >= own;
  return __reduce_max_sync(kAllLanes, as_large >= k ? own : 0u);
}

template <int N>
__device__ __forceinline__ unsigned reached_in(const unsigned* ranks, int k) {
  unsigned own[N];
#pragma unroll
  for (int i = 0; i < N; ++i) own[i] = ranks[threadIdx.x % 32 + i * 32];
  return reached_by(own, k, k / 8);
}

/// A lower bound of the k-th largest element of what two maxima of each thread were taken over; k <= 512. All
/// threads must call it, and meet at a barrier before the next call.
template <class T>
__device__ __forceinline__ float groups_bound(float2 largest, int k, BoundShared& shared) {
  constexpr int kShift = kUnrankedBits<T>;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const float own = fmaxf(largest.x, largest.y);
  if (k <= kFewest) {  // a group is 8 lanes
    float most = own;
#pragma unroll
    for (int step = 16; step >= 4; step /= 2) most = fmaxf(most, shuffle_xor(most, step));
    if (lane < 4) shared.ranks[warp * 4 + lane] = unsigned_rank(most) >> kShift;
  } else if (k <= kFew) {
    shared.ranks[thread] = unsigned_rank(own) >> kShift;
  } else {
    shared.ranks[thread] = unsigned_rank(largest.x) >> kShift;
    shared.ranks[thread + kSelectThreads] = unsigned_rank(largest.y) >> kShift;
  }
  __syncthreads();  // all ranks are there
  if (warp == 0) {
    const unsigned rank = k <= kFewest ? kth_of_lanes(shared.ranks, k)
                          : k <= kFew  ? reached_in<kSelectThreads / 32>(shared.ranks, k)
                                       : reached_in<2 * kSelectThreads / 32>(shared.ranks, k);
    if (lane == 0) shared.bound = bound_of<T>(rank);
  }
  __syncthreads();  // the bound is there
  return shared.bound;
}

}  // namespace assay::ASSAY_BACKEND::onepass
