// SPDX-License-Identifier: Apache-2.0
// The last pass over a row, which writes the output. It walks from the end of the row to its start, because
// the caches still hold what the previous pass read last. What it reads and writes is not needed again. It is
// marked so, to keep it from evicting rows that are needed. Compared with a forward pass with plain accesses
// (4000 rows on an H200, one block per row), the kernel takes 4 to 24 % less time from V = 8064 (f16: 14,080)
// to 32,768. It takes up to 5.5 % more for rows that fit the first-level cache, and 2 % more from V = 250,000
// on.
#pragma once

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// Memory is transferred in sectors of this many bytes.
inline constexpr int kSector = 32;

/// Loads *p, which nobody reads again.
template <class T>
__device__ __forceinline__ Access<T> load_last(const Access<T>* p) {
#if defined(__CUDACC__)
  const uint4 v = __ldcs(reinterpret_cast<const uint4*>(p));
  Access<T> a;
  memcpy(&a, &v, 16);
  return a;
#else
  return *p;
#endif
}

/// Stores *p = a in one access; without this the compiler may use four.
template <class T>
__device__ __forceinline__ void store_last(Access<T>* p, const Access<T>& a) {
#if defined(__CUDACC__)
  uint4 v;
  memcpy(&v, &a, 16);
  __stcs(reinterpret_cast<uint4*>(p), v);
#else
  *p = a;
#endif
}

/// p[0..V) = f of x[0..V), shared by `kThreads` threads. f(Chunk<1 or kPerAccess>&) replaces the logits by
/// the outputs. p is x, or a row that does not overlap x. Each thread has kAhead accesses in flight. The
/// accesses are whole sectors of x, and whole sectors of p if both have the same alignment. (With whole
/// sectors of p instead, if the alignments differ, safe_block f16 took 2 to 12 % longer on an H200 at every
/// V.)
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void write_row(const T* x, T* p, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  static_assert(kThreads >= (kSector + 16) / static_cast<int>(sizeof(T)));  // at most one single per thread
  const auto to_sector = static_cast<std::int64_t>((kSector - reinterpret_cast<std::uintptr_t>(x) % kSector) %
                                                   kSector / sizeof(T));
  const std::int64_t head = to_sector < V ? to_sector : V;
  const std::int64_t accesses = (V - head) / N;
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x + head);
  const bool one_access =
      (reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(p)) % 16 == 0;

  // The elements before the first whole access, and those after the last.
  const std::int64_t single_at = thread < head ? thread : accesses * N + thread;
  if (single_at < V) {
    Chunk<1> c = single(to_float(x[single_at]));
    f(c);
    p[single_at] = from_float<T>(c.x[0]);
  }
  walk_accesses_back<kThreads, kAhead, T>(
      accesses, thread, [&](std::int64_t i) { return load_last(body + i); },
      [&](Chunk<N> c, std::int64_t i) {
        f(c);
        T* const to = p + head + i * N;
        if (one_access) {
          store_last(reinterpret_cast<Access<T>*>(to), as_elements<T>(c));
        } else {
#pragma unroll
          for (int j = 0; j < N; ++j) to[j] = from_float<T>(c.x[j]);
        }
      });
}

}  // namespace assay::ASSAY_BACKEND
