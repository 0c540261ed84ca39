// SPDX-License-Identifier: Apache-2.0
// The k best of a row for any k, by their digits: a radix selection finds the k-th rank, the elements that
// reach it are collected in the order of their columns, and a stable radix sort puts them in order, so that
// of equal logits the smaller column stays first. One block of kRadixThreads threads.
#pragma once

#include <algorithm>

#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/topk.cuh"

namespace assay::ASSAY_BACKEND {

inline constexpr int kRadixThreads = 256;
inline constexpr int kRadixWarps = kRadixThreads / 32;
inline constexpr int kDigits = 256;  // values of a digit; a thread counts one of them
static_assert(kDigits == kRadixThreads);

/// Digits of a rank that differ between logits of a type: the rank is that of a float.
template <class T>
inline constexpr int kRankDigits = sizeof(T) == 4           ? 4
                                   : std::is_same_v<T, f16> ? 3
                                                            : 2;
template <class T>
inline constexpr int kLowestBit = 32 - 8 * kRankDigits<T>;  // of the last digit

/// A logit's rank, unsigned and so that smaller ranks first.
__device__ __forceinline__ unsigned ascending_rank(float x) {
  return ~(static_cast<unsigned>(rank_key(x)) ^ 0x80000000u);
}

struct RankedColumn {
  unsigned rank;
  long long column;
};
using Count = unsigned long long;  // of elements of a row

struct RadixShared {
  Count counts[kRadixWarps][kDigits];
  Count of_warps[2][kRadixWarps];
  Count before;
  int digit;
};

/// Sum of the values of the threads before the caller, and in `total` of all threads. All threads must call
/// it, and meet at a barrier before the next call but one; `turn` is 0 and 1 in turn.
__device__ __forceinline__ Count sum_before(Count value, int turn, RadixShared& shared, Count& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Count sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const Count other = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(step));
    if (lane >= step) sum += other;
  }
  if (lane == 31) shared.of_warps[turn][warp] = sum;
  __syncthreads();  // all warps' sums are there
  sum -= value;
  total = 0;
#pragma unroll
  for (int w = 0; w < kRadixWarps; ++w) {
    if (w < warp) sum += shared.of_warps[turn][w];
    total += shared.of_warps[turn][w];
  }
  return sum;
}

/// One thread counts a digit; no barrier.
__device__ __forceinline__ void count_digit(unsigned digit, RadixShared& shared) {
  atomicAdd(&shared.counts[threadIdx.x / 32][digit], Count{1});
}
__device__ __forceinline__ void clear_counts(RadixShared& shared) {
  for (int w = 0; w < kRadixWarps; ++w) shared.counts[w][threadIdx.x] = 0;
  __syncthreads();  // all counts are 0
}

/// The digit of the element number `k`, counted from 1 and from digit 0, and in `before` the number of
/// elements with smaller digits. All threads must call it; the counts are complete after its first barrier.
__device__ __forceinline__ unsigned digit_of(Count k, RadixShared& shared, Count& before) {
  __syncthreads();  // all have counted
  const int thread = static_cast<int>(threadIdx.x);
  Count own = 0, total = 0;
  for (int w = 0; w < kRadixWarps; ++w) own += shared.counts[w][thread];
  const Count smaller = sum_before(own, 0, shared, total);
  if (smaller < k && k <= smaller + own) {
    shared.digit = thread;
    shared.before = smaller;
  }
  __syncthreads();  // the digit is there
  before = shared.before;
  return static_cast<unsigned>(shared.digit);
}

/// Where the k best end: all ranks below `rank` are among them, and the first `equal` elements of this rank.
struct Last {
  unsigned rank;
  Count equal;
};

/// The first digits of the whole row have been counted (the first read of the row did it). k <= V.
template <class T>
__device__ __forceinline__ Last select_last(const T* x, std::int64_t V, int k, RadixShared& shared) {
  unsigned rank = 0;
  Count left = static_cast<unsigned>(k);
  for (int bit = 24; bit >= kLowestBit<T>; bit -= 8) {
    if (bit < 24) {
      clear_counts(shared);
      for (std::int64_t i = threadIdx.x; i < V; i += kRadixThreads) {
        const unsigned own = ascending_rank(to_float(x[i]));
        if (own >> (bit + 8) == rank >> (bit + 8)) count_digit(own >> bit & 0xff, shared);
      }
    }
    Count smaller = 0;
    rank |= digit_of(left, shared, smaller) << bit;
    left -= smaller;
  }
  return {rank, left};
}

/// Appends the elements up to `last` in the order of their columns. Returns their number.
template <class T>
__device__ __forceinline__ int collect_up_to(const T* x, std::int64_t V, Last last, RankedColumn* to,
                                             RadixShared& shared) {
  constexpr unsigned kSeen = ~0u << kLowestBit<T>;
  Count smaller = 0, equal = 0;
  int turn = 0;
  for (std::int64_t base = 0; base < V; base += kRadixThreads, turn ^= 1) {
    const std::int64_t i = base + threadIdx.x;
    const unsigned rank = i < V ? ascending_rank(to_float(x[i])) & kSeen : ~0u;
    const bool below = i < V && rank < last.rank, same = i < V && rank == last.rank;
    Count total = 0;  // both counts in one: at most 256 of each
    const Count counts = sum_before((below ? 1u : 0u) | (same ? 1u << 16 : 0u), turn, shared, total);
    const Count equal_before = equal + (counts >> 16);
    if (below || (same && equal_before < last.equal))
      to[smaller + (counts & 0xffff) + min(equal_before, last.equal)] = {rank, i};
    smaller += total & 0xffff;
    equal += total >> 16;
  }
  __syncthreads();  // all are there
  return static_cast<int>(smaller + min(equal, last.equal));
}

/// Sorts by one digit, stably.
__device__ __forceinline__ void sort_by_digit(const RankedColumn* from, RankedColumn* to, int n, int bit,
                                              RadixShared& shared) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  clear_counts(shared);
  for (int i = thread; i < n; i += kRadixThreads) count_digit(from[i].rank >> bit & 0xff, shared);
  __syncthreads();  // all have counted
  Count own = 0, total = 0;
  for (int w = 0; w < kRadixWarps; ++w) own += shared.counts[w][thread];
  Count next = sum_before(own, 0, shared, total);  // where the thread's digit goes next
  for (int base = 0; base < n; base += kRadixThreads) {
    clear_counts(shared);
    const int i = base + thread;
    const RankedColumn is = i < n ? from[i] : RankedColumn{};
    const unsigned digit = i < n ? is.rank >> bit & 0xff : kDigits + static_cast<unsigned>(lane);
    const unsigned same = __match_any_sync(kAllLanes, digit), earlier = same & ((1u << lane) - 1);
    if (i < n && earlier == 0) shared.counts[warp][digit] = static_cast<unsigned>(__popc(same));
    __syncthreads();  // each warp has counted its digits
    for (int w = 0; w < kRadixWarps; ++w) {
      const Count count = shared.counts[w][thread];
      shared.counts[w][thread] = next;
      next += count;
    }
    __syncthreads();  // counts have become places
    if (i < n) to[shared.counts[warp][digit] + static_cast<unsigned>(__popc(earlier))] = is;
    __syncthreads();  // places have been read
  }
}

/// Sorts by rank, stably. Returns which of the two arrays holds the result.
template <class T>
__device__ __forceinline__ const RankedColumn* sort_by_rank(RankedColumn* a, RankedColumn* b, int n,
                                                            RadixShared& shared) {
  for (int bit = kLowestBit<T>; bit < 32; bit += 8) {
    sort_by_digit(a, b, n, bit, shared);
    RankedColumn* const sorted = b;
    b = a;
    a = sorted;
  }
  return a;
}

/// Memory of the blocks of a launch: two arrays of `room` elements for each.
struct RadixPlace {
  RankedColumn* base;
  std::int64_t room;
};
/// Most blocks of a launch, so that this memory has a bound.
inline constexpr std::int64_t kMostRadixBlocks = 256;
inline std::size_t radix_bytes(std::int64_t rows, std::int64_t room) {
  return static_cast<std::size_t>(std::min(rows, kMostRadixBlocks) * room) * 2 * sizeof(RankedColumn);
}

/// The min(k, V) best of a row, in order. The first digits of the whole row have been counted.
struct Ordered {
  const RankedColumn* best;
  int count;
};
template <class T>
__device__ __forceinline__ Ordered best_of_row(const T* x, std::int64_t V, int k, RadixPlace place,
                                               RadixShared& shared) {
  RankedColumn* const a = place.base + 2 * place.room * blockIdx.x;
  const auto wanted = static_cast<int>(k < V ? k : V);
  const Last last = wanted < V ? select_last(x, V, wanted, shared) : Last{~0u, 0};
  const int count = wanted > 0 ? collect_up_to(x, V, last, a, shared) : 0;
  return {sort_by_rank<T>(a, a + place.room, count, shared), count};
}

}  // namespace assay::ASSAY_BACKEND
