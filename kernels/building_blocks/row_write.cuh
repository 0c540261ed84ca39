// The last pass over a row, the one that writes the output. It walks from the end of the row to its start,
// since what the pass before read last is what the caches still hold; what it reads and writes is not needed
// again, and is marked so that it does not push out rows which are. Beside a pass in the order of the row
// with plain accesses, 4000 rows on an H200, one block a row: 4 to 24 % less time for the kernel from V =
// 8064 (f16: 14,080) to 32,768, up to 5.5 % more for rows that the first-level cache holds, 2 % from 250,000
// on.
#pragma once

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// Memory moves in sectors of this many bytes.
inline constexpr int kSector = 32;

/// *p, which nobody reads again.
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

/// *p = a, in one access: left to itself the compiler may make four of it.
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

/// p[0..V) = f of x[0..V), which `kThreads` threads share: f(Chunk<1 or kPerAccess>&) puts the outputs in the
/// place of the logits. p is x or a row apart from it. Of a thread kAhead accesses are in flight at a time.
/// Its accesses are whole sectors of x, and of p where both lie alike. (Sectors of p instead, where p lies on
/// other ones: safe_block f16 took 2 to 12 % longer on an H200 everywhere.)
template <int kThreads, int kAhead = 1, class T, class F>
__device__ __forceinline__ void write_row(const T* x, T* p, std::int64_t V, int thread, F f) {
  constexpr int N = kPerAccess<T>;
  static_assert(kThreads >= (kSector + 16) / static_cast<int>(sizeof(T)));  // a thread has one single element
  const auto to_sector = static_cast<std::int64_t>((kSector - reinterpret_cast<std::uintptr_t>(x) % kSector) %
                                                   kSector / sizeof(T));
  const std::int64_t head = to_sector < V ? to_sector : V;
  const std::int64_t accesses = (V - head) / N;
  const Access<T>* const body = reinterpret_cast<const Access<T>*>(x + head);
  const bool one_access =
      (reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(p)) % 16 == 0;

  // The elements before the first whole access and after the last one.
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
