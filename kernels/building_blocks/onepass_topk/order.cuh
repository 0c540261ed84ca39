// SPDX-License-Identifier: Apache-2.0
// The k best of candidates in shared memory, in order. A few are compared with each other. More are divided
// into buckets by the leading bits of what lies between the best and the last of them; only buckets with some
// of the k best are looked at, and in a bucket each candidate is compared with the others.
#pragma once

#include "kernels/building_blocks/onepass_topk/bound.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Smallest and largest rank, and the same of the low words.
struct Spread {
  unsigned low, high, low_word, high_word;
};
template <int kThreads>
struct OrderShared {
  Spread warps[kThreads / 32];
  int sums[kThreads / 32];
  int reach, total;
};

/// log2 of a power of two.
template <int kPower>
inline constexpr int kLog2 = 1 + kLog2<kPower / 2>;
template <>
inline constexpr int kLog2<1> = 0;

/// What candidates of a spread differ by, and their buckets, the best first.
template <int kBuckets>
struct Buckets {
  bool tied;  // all of one rank
  unsigned high;
  int shift;

  __device__ __forceinline__ explicit Buckets(const Spread& s)
      : tied(s.low == s.high), high(tied ? s.high_word : s.high) {
    constexpr int kBits = kLog2<kBuckets>;
    static_assert(kBuckets == 1 << kBits);
    const unsigned range = high - (tied ? s.low_word : s.low);
    const int bits = range ? 32 - __clz(static_cast<int>(range)) : 0;
    shift = bits > kBits ? bits - kBits : 0;
  }
  __device__ __forceinline__ unsigned of(Candidate c) const {
    return (high - (tied ? static_cast<unsigned>(c) : rank_of(c))) >> shift;
  }
};

/// Up to this many candidates each is compared with all others.
inline constexpr int kComparedWithAll = 64;

/// Two candidates in one load.
struct [[gnu::may_alias]] alignas(16) TwoCandidates {
  Candidate first, second;
};

/// kMost candidates at most, `at` a multiple of 16 bytes. Neighbouring lanes share the comparisons of a
/// candidate. Two others come with one load.
template <int kThreads, int kMost = kComparedWithAll, class F>
__device__ __forceinline__ void order_few(const Candidate* at, int n, int k, F use) {
  constexpr int kShare = kThreads / kMost;
  static_assert(kShare >= 1 && kShare <= 32);
  const int thread = static_cast<int>(threadIdx.x), i = thread / kShare, part = thread % kShare;
  if (thread / 32 * 32 >= n * kShare) return;  // the whole warp
  const Candidate own = i < n ? at[i] : 0;
  int not_above = 0;  // less the number of candidates that rank before it
#pragma unroll 4
  for (int j = part; j < n / 2; j += kShare) {
    const TwoCandidates two = reinterpret_cast<const TwoCandidates*>(at)[j];
    uncount_if_less(not_above, own, two.first);
    uncount_if_less(not_above, own, two.second);
  }
  if (n % 2 && part == 0) uncount_if_less(not_above, own, at[n - 1]);
  int slot = -not_above;
#pragma unroll
  for (int step = kShare / 2; step > 0; step /= 2) slot += __shfl_xor_sync(kAllLanes, slot, step);
  if (i < n && part == 0 && slot < k) use(slot, own);
}

/// Calls use(slot, candidate) for the k best of at[0 .. n - 1], n <= kRoom, or for all of them, each by one
/// thread. 0 is no candidate. `counts`: 2 kThreads words. Changes `at`. Returns the number of candidates. All
/// threads must call it after a barrier.
template <int kRoom, int kThreads, class F>
__device__ __forceinline__ int order_by_buckets(Candidate* at, int n, int k, unsigned* counts,
                                                OrderShared<kThreads>& shared, F use) {
  constexpr int kEach = kRoom / kThreads, kWarps = kThreads / 32, kBuckets = 2 * kThreads;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  Candidate own[kEach];
  Spread s{~0u, 0, ~0u, 0};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int slot = thread + i * kThreads;
    own[i] = slot < n ? at[slot] : 0;
    if (!own[i]) continue;
    const auto word = static_cast<unsigned>(own[i]);
    s = {min(s.low, rank_of(own[i])), max(s.high, rank_of(own[i])), min(s.low_word, word),
         max(s.high_word, word)};
  }
  counts[thread] = counts[thread + kThreads] = 0;
  s = {__reduce_min_sync(kAllLanes, s.low), __reduce_max_sync(kAllLanes, s.high),
       __reduce_min_sync(kAllLanes, s.low_word), __reduce_max_sync(kAllLanes, s.high_word)};
  if (lane == 0) shared.warps[warp] = s;
  __syncthreads();  // all spreads are there, the counts are 0, the candidates have been read
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const Spread o = shared.warps[w];
    s = {min(s.low, o.low), max(s.high, o.high), min(s.low_word, o.low_word), max(s.high_word, o.high_word)};
  }
  const Buckets<kBuckets> buckets(s);
  unsigned within[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) within[i] = own[i] ? atomicAdd(&counts[buckets.of(own[i])], 1u) : 0;
  __syncthreads();  // all have been counted
  const unsigned first = counts[2 * thread], second = counts[2 * thread + 1];
  const int sum = static_cast<int>(first + second);
  int up_to = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, up_to, static_cast<unsigned>(step));
    if (lane >= step) up_to += other;
  }
  if (lane == 31) shared.sums[warp] = up_to;
  __syncthreads();  // all sums are there
#pragma unroll
  for (int w = 0; w < kWarps; ++w) up_to += w < warp ? shared.sums[w] : 0;
  const int begin = up_to - sum, middle = begin + static_cast<int>(first);
  counts[2 * thread] = static_cast<unsigned>(begin);
  counts[2 * thread + 1] = static_cast<unsigned>(middle);
  if (thread == kThreads - 1) {
    shared.total = up_to;
    if (up_to < k) shared.reach = up_to;
  }
  if (begin < k && up_to >= k) shared.reach = middle >= k ? middle : up_to;
  __syncthreads();  // counts have become places
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (!own[i]) continue;
    const unsigned place = counts[buckets.of(own[i])];
    if (place < static_cast<unsigned>(k)) at[place + within[i]] = own[i];
  }
  __syncthreads();  // the buckets are filled
  const int total = shared.total;
  for (int i = thread; i < shared.reach; i += kThreads) {
    const Candidate c = at[i];
    const unsigned bucket = buckets.of(c);
    const int from = static_cast<int>(counts[bucket]);
    const int end = bucket + 1 < kBuckets ? static_cast<int>(counts[bucket + 1]) : total;
    int before = 0;  // less the number of its bucket's that rank before it
    for (int j = from; j < end; ++j) uncount_if_less(before, c, at[j]);
    const int slot = from - before;
    if (slot < k) use(slot, c);
  }
  return total;
}

}  // namespace assay::ASSAY_BACKEND::onepass
