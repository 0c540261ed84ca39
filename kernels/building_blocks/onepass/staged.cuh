// SPDX-License-Identifier: Apache-2.0
// Rows without gaps that do not begin at multiples of 16 bytes, for the lanes of one block. All rows of the
// block together are one piece of memory. The block moves it 16 bytes at a time, through shared memory, where
// a lane takes its accesses from any address. Only the two ends of the piece are moved element by element, so
// nothing outside it is touched. Where a lane loads such a row itself, element by element, each store is a
// transaction of its own.
#pragma once

#include "kernels/building_blocks/row_write.cuh"
#if !defined(__CUDACC__)
#include "kernels/host/cuda_intrinsics.hpp"
#endif

namespace assay::ASSAY_BACKEND::onepass {

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

}  // namespace assay::ASSAY_BACKEND::onepass
