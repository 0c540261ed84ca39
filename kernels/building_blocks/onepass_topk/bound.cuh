// SPDX-License-Identifier: Apache-2.0
// Lower bounds of the k-th largest element of a row. A block of kSelectThreads threads divides what it has
// read into groups. The k-th largest of the groups' maxima is such a bound: each of k groups has an element
// at or above it. The elements above it number about k + k^2 / (2 x groups). One warp finds it, so that the
// other warps of the multiprocessor have the issue slots (groups_bound); or all threads do
// (shared_bound.cuh).
#pragma once

#include <type_traits>

#include "kernels/building_blocks/onepass/held.cuh"
#include "kernels/building_blocks/topk.cuh"

// A candidate of a top-k selection as one word of 64 bits, so that one comparison decides value and index,
// and the thresholds that keep most elements from becoming candidates.

// A call, so that what is rarely done takes no registers of what is always done.
#if defined(__CUDACC__)
#define ASSAY_RARE __device__ __noinline__
#else
#define ASSAY_RARE inline
#endif

namespace assay::ASSAY_BACKEND::onepass {

/// The larger word ranks first: the rank of the logit above, the complement of its column below. -0 and +0
/// have one rank. 0 is no candidate.
using Candidate = unsigned long long;

/// The rank of a logit, as an unsigned number.
__device__ __forceinline__ unsigned unsigned_rank(float x) {
  return static_cast<unsigned>(rank_key(x)) ^ 0x80000000u;
}
/// The logit of a rank; +0 for both zeros.
__device__ __forceinline__ float ranked_logit(unsigned rank) {
  const auto key = static_cast<int>(rank ^ 0x80000000u);
  return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
}
__device__ __forceinline__ Candidate candidate(float x, unsigned column) {
  return static_cast<Candidate>(unsigned_rank(x)) << 32 | ~column;
}
__device__ __forceinline__ unsigned rank_of(Candidate c) { return static_cast<unsigned>(c >> 32); }
__device__ __forceinline__ unsigned column_of(Candidate c) { return ~static_cast<unsigned>(c); }

/// The smallest number above x. NaN, which nothing reaches, if x is +inf.
__device__ __forceinline__ float next_above(float x) {
  if (x == positive_infinity()) return quiet_nan();
  if (x == 0.0f) return __int_as_float(1);
  const int b = __float_as_int(x);
  return __int_as_float(b >= 0 ? b + 1 : b - 1);
}

/// Low bits of a rank that a threshold leaves out: it may be too low, and 16-bit logits do not have them.
template <class T>
inline constexpr int kUnrankedBits = sizeof(T) == 4           ? 8
                                     : std::is_same_v<T, f16> ? 13
                                                              : 16;

/// The largest logit that is certain to lie at or below what has this rank without its low bits. -inf if that
/// is the rank of no number. Of 16-bit logits it is the logit itself: their low bits are 0 in what is not
/// negative and, as ranks go, 1 in the rest. So a row of equal logits has a bound that none of them passes.
template <class T>
__device__ __forceinline__ float bound_of(unsigned short_rank) {
  unsigned rank = short_rank << kUnrankedBits<T>;
  if (sizeof(T) == 2 && rank < 0x80000000u) rank |= (1u << kUnrankedBits<T>)-1;
  return rank <= unsigned_rank(negative_infinity()) ? negative_infinity() : ranked_logit(rank);
}

/// Threads of a block: of few candidates, so that many rows are under way at once, and least where a logit
/// has 4 bytes; of many; of a block that shares a row with others. On an H100, 4000 rows, k = 30: f32, V =
/// 131,072: 711, 739 and 798 us with 64, 128 and 256 threads; f16: 427, 407 and 438.
inline constexpr int kLeastThreads = 64, kFewThreads = 128, kSelectThreads = 256, kSharingThreads = 512;
/// Largest k for which 32 groups are enough, for which 64 are (and kLeastThreads), and for which a group for
/// each thread is, at most 256.
inline constexpr int kFewest = 16, kLeastK = 32, kFew = 64;

/// Takes one from `count` if a < b. By the borrow of a difference, in two instructions; from a comparison,
/// nvcc 13.0 makes three.
__device__ __forceinline__ void uncount_if_less(int& count, unsigned a, unsigned b) {
#if defined(__CUDA_ARCH__)
  asm("{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %0, 0;}" : "+r"(count) : "r"(a), "r"(b));
#else
  count -= a < b;
#endif
}
__device__ __forceinline__ void uncount_if_less(int& count, Candidate a, Candidate b) {
#if defined(__CUDA_ARCH__)
  asm("{.reg .u64 t; .reg .u32 u; sub.cc.u64 t, %1, %2; subc.u32 %0, %0, 0;}" : "+r"(count) : "l"(a), "l"(b));
#else
  count -= a < b;
#endif
}
/// Takes from `count` how many of four ranks lie below `rank`.
__device__ __forceinline__ void uncount_below(int& count, uint4 ranks, unsigned rank) {
  uncount_if_less(count, ranks.x, rank);
  uncount_if_less(count, ranks.y, rank);
  uncount_if_less(count, ranks.z, rank);
  uncount_if_less(count, ranks.w, rank);
}

template <int kThreads>
struct BoundShared {
  alignas(16) unsigned ranks[2 * kThreads];
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

/// The largest value of lanes whose numbers have the same remainder by `apart`.
__device__ __forceinline__ float largest_of_lanes(float own, int apart) {
#pragma unroll
  for (int step = 16; step >= apart; step /= 2) own = fmaxf(own, shuffle_xor(own, step));
  return own;
}

/// A lower bound of the k-th largest element of what two maxima of each thread were taken over. k <= kFew, or
/// k <= kThreads where there are more threads. All threads must call it, and meet at a barrier before the
/// next call.
template <class T, int kThreads>
__device__ __forceinline__ float groups_bound(float2 largest, int k, BoundShared<kThreads>& shared) {
  constexpr int kShift = kUnrankedBits<T>;
  constexpr int kOfWarp = 32 * 32 / kThreads;                      // of 32 groups
  constexpr int kGroups = kThreads < 256 ? kThreads : 256;         // for k <= kFew
  constexpr int kMany = kThreads < 512 ? 2 * kThreads : kThreads;  // for larger k
  constexpr int kMoreOfWarp = kGroups * 32 / kThreads;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const auto rank = [](float x) { return unsigned_rank(x) >> kShift; };
  const float own = fmaxf(largest.x, largest.y);
  if (k <= kFewest) {
    const float most = largest_of_lanes(own, kOfWarp);
    if (lane < kOfWarp) shared.ranks[warp * kOfWarp + lane] = rank(most);
  } else if (k <= kFew) {
    const float most = largest_of_lanes(own, kMoreOfWarp);
    if (lane < kMoreOfWarp) shared.ranks[warp * kMoreOfWarp + lane] = rank(most);
  } else if constexpr (kMany == kThreads) {
    shared.ranks[thread] = rank(own);
  } else {
    shared.ranks[thread] = rank(largest.x);
    shared.ranks[thread + kThreads] = rank(largest.y);
  }
  __syncthreads();  // all ranks are there
  if (warp == 0) {
    const unsigned least = k <= kFewest ? kth_of_lanes(shared.ranks, k)
                           : k <= kFew  ? reached_in<kGroups / 32>(shared.ranks, k)
                                        : reached_in<kMany / 32>(shared.ranks, k);
    if (lane == 0) shared.bound = bound_of<T>(least);
  }
  __syncthreads();  // the bound is there
  return shared.bound;
}

}  // namespace assay::ASSAY_BACKEND::onepass
