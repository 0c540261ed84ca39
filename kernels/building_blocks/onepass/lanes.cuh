// SPDX-License-Identifier: Apache-2.0
// Rung 1, the shortest rows: several rows per warp. kLanes neighbouring lanes, a power of two, hold a row
// in kCount accesses each. Access c is always elements cN .. cN + N - 1 of the row, wherever the row lies:
// how it is moved makes no difference to its bits.
//   whole accesses   if every row consists of them, in and out
//   staged           many rows without gaps: those of a block together, through shared memory (above)
//   element by element, whatever is no access at a multiple of 16 bytes
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

#if !defined(__CUDACC__)
#include "kernels/host/cuda_intrinsics.hpp"
#endif

namespace assay::ASSAY_BACKEND::onepass {

// Rows without gaps that do not begin at multiples of 16 bytes, for the lanes of one block. All rows of the
// block together are one piece of memory. The block moves it 16 bytes at a time, through shared memory, where
// a lane takes its accesses from any address. Only the two ends of the piece are moved element by element, so
// nothing outside it is touched. Where a lane loads such a row itself, element by element, each store is a
// transaction of its own.

/// Two elements of 16 bits.
struct [[gnu::may_alias]] Pair {
  unsigned bits;
};

/// `count` elements from `at` on, in shared memory. They lie there at the same place between two multiples of
/// 16 bytes as in memory. kThreads threads move them together.
template <class T, int kThreads>
struct Staged {
  static constexpr int kEach = kPerAccess<T>;
  static constexpr unsigned N = kEach;
  Access<T>* shared;
  unsigned past, count;

  /// Accesses that shared memory needs beyond those of the longest piece: one, if the piece begins within an
  /// access, and one that get() may read beyond.
  static constexpr int kMore = 2;

  __device__ __forceinline__ Staged(Access<T>* memory, const T* at, unsigned elements)
      : shared(memory),
        past(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 16 / sizeof(T))),
        count(elements) {}

  /// from[0 .. count) to shared memory; kCount accesses a thread are enough.
  template <int kCount>
  __device__ __forceinline__ void load(const T* from, unsigned thread) const {
    const auto* const accesses = reinterpret_cast<const Access<T>*>(from - past);
    T* const to = elements();
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (const unsigned at = thread + i * kThreads; is_whole(at)) shared[at] = load_last(accesses + at);
    ends(thread, [&](unsigned at) { to[past + at] = from[at]; });
  }
  /// Shared memory to to[0 .. count).
  template <int kCount>
  __device__ __forceinline__ void store(T* to, unsigned thread) const {
    auto* const accesses = reinterpret_cast<Access<T>*>(to - past);
    const T* const from = elements();
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (const unsigned at = thread + i * kThreads; is_whole(at)) store_last(accesses + at, shared[at]);
    ends(thread, [&](unsigned at) { to[at] = from[past + at]; });
  }

  /// Elements at .. at + N - 1. Those from at + n on are -inf.
  __device__ __forceinline__ Access<T> get(unsigned at, int n) const {
    Access<T> a;
    if constexpr (sizeof(T) == 4) {
      const T* const from = elements() + past + at;
#pragma unroll
      for (int j = 0; j < kEach; ++j) a.e[j] = j < n ? from[j] : negative_infinity();
    } else {
      const Pair* const from = pairs() + (past + at) / 2;
      unsigned w[5];
#pragma unroll
      for (int k = 0; k < 5; ++k) w[k] = from[k].bits;
#pragma unroll
      for (int k = 0; k < 4; ++k) a.w[k] = __funnelshift_r(w[k], w[k + 1], (past + at) % 2 * 16);
      if (n < kEach) {
        const unsigned none = no_access<T>().w[0];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          a.w[k] = 2 * k >= n ? none : 2 * k + 1 >= n ? (a.w[k] & 0xffffu) | (none & 0xffff0000u) : a.w[k];
      }
    }
    return a;
  }
  /// Elements at .. at + n - 1, or N of them, if n is larger.
  __device__ __forceinline__ void put(unsigned at, int n, const Access<T>& a) const {
    if constexpr (sizeof(T) == 4) {
      T* const to = elements() + past + at;
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        if (j < n) to[j] = a.e[j];
    } else {
      // Pairs as they lie in shared memory. The first and the last may be halves; their other halves belong
      // to other lanes.
      Pair* const to = pairs() + (past + at) / 2;
      T* const halves = elements() + (past + at) / 2 * 2;
      const int odd = static_cast<int>((past + at) % 2), end = (n < kEach ? n : kEach) + odd;
      T e[kEach];
      memcpy(e, &a, 16);
      unsigned w[4] = {odd ? 0 : a.w[0]};
#pragma unroll
      for (int k = 1; k < 4; ++k) w[k] = __funnelshift_l(a.w[k - 1], a.w[k], (past + at) % 2 * 16);
      if (odd) halves[1] = e[0];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (2 * k + 2 <= end && (k > 0 || !odd)) to[k].bits = w[k];
#pragma unroll
      for (int k = 0; k < 5; ++k)
        if (2 * k + 1 == end && (k > 0 || !odd))
          halves[2 * k] = k < 4 && !odd ? e[2 * k % 8] : e[(2 * k + 7) % 8];
    }
  }

 private:
  __device__ __forceinline__ T* elements() const { return reinterpret_cast<T*>(shared); }
  __device__ __forceinline__ Pair* pairs() const { return reinterpret_cast<Pair*>(shared); }
  /// True if all elements of the access belong to the piece.
  __device__ __forceinline__ bool is_whole(unsigned access) const {
    return access < (past + count) / N && (access > 0 || past == 0);
  }
  /// Calls f(element) for one of the elements before the first whole access, and one of those after the last.
  template <class F>
  __device__ __forceinline__ void ends(unsigned thread, F f) const {
    static_assert(kThreads >= kEach);
    if (past != 0 && thread < N - past && thread < count) f(thread);
    const unsigned at = (past + count) / N * N + thread;  // counted from `past` elements before the piece on
    if (thread < N && at < past + count && (at >= N || past == 0)) f(at - past);
  }
};

inline constexpr int kLanesThreads = 256;

/// The elements of access c of a row that is not aligned, or of its last, partial access.
template <class T>
__device__ __forceinline__ Access<T> gather(const T* x, int first, int V) {
  T e[kPerAccess<T>];
#pragma unroll
  for (int j = 0; j < kPerAccess<T>; ++j)
    e[j] = first + j < V ? x[first + j] : from_float<T>(negative_infinity());
  Access<T> a;
  memcpy(&a, e, 16);
  return a;
}

template <class T>
__device__ __forceinline__ void scatter(T* p, int first, int V, const Access<T>& a) {
  T e[kPerAccess<T>];
  memcpy(e, &a, 16);
#pragma unroll
  for (int j = 0; j < kPerAccess<T>; ++j)
    if (first + j < V) p[first + j] = e[j];
}

/// The threads of a block as lanes of its rows, kLanes a row.
template <class T, int kLanes, int kThreads>
struct Lanes {
  static constexpr unsigned kRows = kThreads / kLanes;
  int lane = static_cast<int>(threadIdx.x) % kLanes;
  int in_block = static_cast<int>(threadIdx.x) / kLanes;                // its row, among those of the block
  unsigned row = blockIdx.x * kRows + static_cast<unsigned>(in_block);  // in_parts: so many fit 32 bits

  /// The first element of access i.
  __device__ __forceinline__ int first(int i) const { return (lane + i * kLanes) * kPerAccess<T>; }
};

template <class E, class T, int kCount>
__device__ __forceinline__ Normalizer of_lanes(const Held<T, kCount>& held, int lanes) {
  const float own = held.largest();
  return merge_lanes<E>({own, held.template sum<E>(reference(own))}, lanes);
}

/// kWhole: all rows, and those of the outputs, begin at a multiple of 16 bytes and consist of whole accesses.
template <class Form, class T, int kCount, int kLanes, bool kWhole>
__global__ void __launch_bounds__(kLanesThreads)
    lanes_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t length) {
  constexpr int N = kPerAccess<T>;
  const Lanes<T, kLanes, kLanesThreads> of;
  const int V = static_cast<int>(length);
  // The lanes of a warp stay together, whether they have a row or not.
  const bool has_row = of.row < logits.count;
  const T* const x = logits.row(has_row ? of.row : 0);
  const bool vector = kWhole || reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  wait_for_previous();
  Held<T, kCount> held;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int at = of.first(i);
    held.part[i] = no_access<T>();
    if (!has_row || at >= V) continue;
    held.part[i] = kWhole || (vector && at + N <= V) ? load_last(reinterpret_cast<const Access<T>*>(x + at))
                                                     : gather(x, at, V);
  }
  const Normalizer n = of_lanes<typename Form::Exp>(held, kLanes);
  if (!has_row) return;
  if constexpr (Form::op == Op::lse) {
    if (of.lane == 0) *probs.row(of.row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    T* const p = probs.row(of.row);
    const bool whole = kWhole || reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
    const Form form(n);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int at = of.first(i);
      if (at >= V) continue;
      auto c = as_floats(held.part[i]);
      form.template outputs<T>(c);
      if (kWhole || (whole && at + N <= V))
        store_last(reinterpret_cast<Access<T>*>(p + at), as_elements<T>(c));
      else
        scatter(p, at, V, as_elements<T>(c));
    }
  }
  if (m && of.lane == 0) store_normalizer(m, d, of.row, n);
}

inline constexpr int kStagedThreads = 128;

/// The same lanes with the same elements, for rows without gaps that do not all begin at a multiple of 16
/// bytes.
template <class Form, class T, int kCount, int kLanes>
__global__ void __launch_bounds__(kStagedThreads)
    staged_lanes_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t length) {
  using Piece = Staged<T, kStagedThreads>;
  constexpr int kRoom = kStagedThreads * kCount + Piece::kMore;
  const Lanes<T, kLanes, kStagedThreads> of;
  const int V = static_cast<int>(length);
  const unsigned first = blockIdx.x * of.kRows, left = static_cast<unsigned>(logits.count) - first;
  const unsigned rows = left < of.kRows ? left : of.kRows;
  const bool has_row = static_cast<unsigned>(of.in_block) < rows;
  const auto at_row = static_cast<unsigned>(of.in_block * V);
  ASSAY_SHARED(Access<T>, in, kRoom);
  const T* const x = logits.base + static_cast<std::int64_t>(first) * V;
  const Piece from(in, x, rows * static_cast<unsigned>(V));
  wait_for_previous();
  from.template load<kCount>(x, threadIdx.x);
  __syncthreads();  // all rows of the block are there
  Held<T, kCount> held;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int at = of.first(i);
    held.part[i] = no_access<T>();
    if (has_row && at < V) held.part[i] = from.get(at_row + static_cast<unsigned>(at), V - at);
  }
  const Normalizer n = of_lanes<typename Form::Exp>(held, kLanes);
  if constexpr (Form::op == Op::lse) {
    if (has_row && of.lane == 0) *probs.row(of.row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    ASSAY_SHARED(Access<T>, out, kRoom);
    T* const p = probs.base + static_cast<std::int64_t>(first) * V;
    const Piece to(out, p, from.count);
    const Form form(n);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int at = of.first(i);
      if (!has_row || at >= V) continue;
      auto c = as_floats(held.part[i]);
      form.template outputs<T>(c);
      to.put(at_row + static_cast<unsigned>(at), V - at, as_elements<T>(c));
    }
    __syncthreads();  // all outputs of the block are there
    to.template store<kCount>(p, threadIdx.x);
  }
  if (m && has_row && of.lane == 0) store_normalizer(m, d, of.row, n);
}

/// True if every row begins at a multiple of 16 bytes.
template <class T>
bool all_aligned(const Rows<T>& rows) {
  return reinterpret_cast<std::uintptr_t>(rows.base) % 16 == 0 &&
         (rows.count == 1 || rows.pitch % kPerAccess<T> == 0);
}
template <class T>
bool without_gaps(const Rows<T>& rows, std::int64_t V) {
  return rows.count == 1 || rows.pitch == V;
}

/// start(kernel, rows of a block, threads of a block).
template <class Form, int kCount, int kLanes, class T, class F>
void launch_lanes_of(const Call<T>& c, bool staged, F start) {
  const bool one_each = one_value(Form::op);  // lse: its outputs are no rows
  if (c.V % kPerAccess<T> == 0 && all_aligned(c.logits) && (one_each || all_aligned(c.probs)))
    return start(lanes_rung<Form, T, kCount, kLanes, true>, kLanesThreads / kLanes, kLanesThreads);
  if (staged && without_gaps(c.logits, c.V) && (one_each || without_gaps(c.probs, c.V)))
    return start(staged_lanes_rung<Form, T, kCount, kLanes>, kStagedThreads / kLanes, kStagedThreads);
  start(lanes_rung<Form, T, kCount, kLanes, false>, kLanesThreads / kLanes, kLanesThreads);
}
/// `lanes` of a row, with `count` accesses each. `staged`: rows may go through shared memory.
template <class Form, class T, class F>
void launch_lanes(const Call<T>& c, int count, int lanes, bool staged, F start) {
  constexpr int kCount = sizeof(T) == 4 ? 2 : 1;
  if (lanes == 32) return launch_lanes_of<Form, 2, 32>(c, staged, start);
  if (lanes == 16 && count == 2) return launch_lanes_of<Form, 2, 16>(c, staged, start);
  if (lanes == 16) return launch_lanes_of<Form, kCount, 16>(c, staged, start);
  if (lanes == 8) return launch_lanes_of<Form, kCount, 8>(c, staged, start);
  launch_lanes_of<Form, kCount, 4>(c, staged, start);
}

}  // namespace assay::ASSAY_BACKEND::onepass
