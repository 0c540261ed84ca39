// SPDX-License-Identifier: Apache-2.0
// The candidates of a row in shared memory: a block appends to them in any order, thins them out,
// sorts them. Nothing but the set of candidates decides what comes out, so the order does not
// matter.
#pragma once

#include "kernels/building_blocks/onepass_topk/bound.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// The k best of candidates in shared memory, in order. A few are compared with each other. More are divided
// into buckets by the leading bits of what lies between the best and the last of them; only buckets with some
// of the k best are looked at, and in a bucket each candidate is compared with the others.

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

// The k best of the candidates, in order, and what is written of them.

/// Where a launch writes.
template <class T>
struct Selected {
  Rows<T> values;
  void* indices;
  bool wide;
  int k;
};

/// What an empty slot holds: the probability 0, or its logarithm.
template <class Form>
__device__ __forceinline__ float empty_slot() {
  return Form::op == Op::log_softmax ? negative_infinity() : 0.0f;
}

/// Writes slot `slot` of a row; an empty one if `column` is negative.
template <class Form, class T>
__device__ __forceinline__ void put(const Selected<T>& to, std::int64_t row, int slot, float x,
                                    long long column, const Form& form) {
  const std::int64_t first = row * to.values.pitch;
  store_index(to.indices, first + slot, column, to.wide);
  Chunk<1> c = single(x);
  form.template outputs<T>(c);
  to.values.base[first + slot] = from_float<T>(column < 0 ? empty_slot<Form>() : c.x[0]);
}

/// order_few() or order_by_buckets() of a buffer.
template <int kRoom, int kThreads, class F>
__device__ __forceinline__ void in_order(Buffer<kRoom, kThreads>& buffer, int k, F use) {
  const int count = buffer.size();
  if (count <= kComparedWithAll)
    order_few<kThreads>(buffer.at, count, k, use);
  else
    order_by_buckets<kRoom>(buffer.at, count, k, buffer.bound.ranks, buffer.order, use);
}

/// Fills up the slots from `slot` on, if a row has fewer numbers than k: NaN ranks after them, by column. One
/// thread.
template <class Form, class T>
__device__ __forceinline__ void put_rest(int slot, const Selected<T>& to, const T* x, std::int64_t row,
                                         std::int64_t V, const Form& form) {
  for (std::int64_t i = 0; i < V && slot < to.k; ++i) {
    const float xi = to_float(x[i]);
    if (xi != xi) put(to, row, slot++, xi, i, form);
  }
  for (; slot < to.k; ++slot) put(to, row, slot, 0.0f, -1, form);
}

/// Writes a row's k best. All threads must call it after a barrier. If there are fewer than k candidates,
/// they are all numbers of the row.
template <class Form, class T, int kRoom, int kThreads>
__device__ __forceinline__ void put_best(Buffer<kRoom, kThreads>& buffer, const Selected<T>& to, const T* x,
                                         std::int64_t row, std::int64_t V, Normalizer n) {
  const Form form(n);
  in_order(buffer, to.k,
           [&](int slot, Candidate c) { put(to, row, slot, ranked_logit(rank_of(c)), column_of(c), form); });
  if (buffer.size() < to.k && threadIdx.x == 0) put_rest(buffer.size(), to, x, row, V, form);
}

}  // namespace assay::ASSAY_BACKEND::onepass
