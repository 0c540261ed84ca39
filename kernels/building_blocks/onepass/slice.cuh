// SPDX-License-Identifier: Apache-2.0
// The slice of a row that a block of a team (team.cuh) works on, and the element of the row's edges that a
// thread works on.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Number of accesses of a slice: of equal parts, each whole sectors. So every slice begins at a
/// sector if the body of the row does.
template <class Index>
__host__ __device__ constexpr Index slice_of(Index accesses, int blocks) {
  return blocks == 1 ? accesses : ((accesses + blocks - 1) / blocks + 1) / 2 * 2;
}

/// Counted in accesses. Index has 64 bits only where a slice may have 2^31 or more.
template <class T, class Index>
struct Slice {
  Index first, count;
  const Access<T>* from;

  __device__ __forceinline__ Slice(const T* x, const Parts<T>& parts, int rank, int blocks) {
    const auto accesses = static_cast<Index>(parts.accesses);
    const Index whole = slice_of(accesses, blocks);
    first = rank * whole;
    const Index left = accesses - first;
    count = left < 0 ? 0 : left < whole ? left : whole;
    from = reinterpret_cast<const Access<T>*>(x + parts.head) + first;
  }
  /// Where its outputs go.
  __device__ __forceinline__ T* to(T* p, const Parts<T>& parts) const {
    return p + parts.head + static_cast<std::int64_t>(first) * kPerAccess<T>;
  }
};

/// The edges of a row belong to the first warp of the first block. A thread without an element has -inf.
template <class T>
struct Edge {
  std::int64_t at;
  float x;

  __device__ __forceinline__ Edge(const T* row, const Parts<T>& parts, int rank, int thread)
      : at(rank == 0 ? parts.edge(thread) : -1), x(at >= 0 ? to_float(row[at]) : negative_infinity()) {}

  /// What it adds to the sum of its thread.
  template <class E>
  __device__ __forceinline__ float term(float shift, int thread) const {
    return thread < 32 ? E::of(x - shift) : 0.0f;
  }
  template <class F>
  __device__ __forceinline__ void store(T* p, F outputs) const {
    if (at < 0) return;
    Chunk<1> c = single(x);
    outputs(c);
    p[at] = from_float<T>(c.x[0]);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
