// Rung 1, the shortest rows: several rows per warp. kLanes neighbouring lanes, a power of two, hold a row
// in kCount accesses each. Access c is always elements cN .. cN + N - 1 of the row.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kLanesThreads = 256;

/// The elements of access c of a row that is not aligned, or of its last, partial access.
template <class T>
__device__ __forceinline__ Access<T> gather(const T* x, std::int64_t first, std::int64_t V) {
  T e[kPerAccess<T>];
#pragma unroll
  for (int j = 0; j < kPerAccess<T>; ++j)
    e[j] = first + j < V ? x[first + j] : from_float<T>(negative_infinity());
  Access<T> a;
  memcpy(&a, e, 16);
  return a;
}

template <class Form, class T, int kCount, int kLanes>
__global__ void __launch_bounds__(kLanesThreads)
    lanes_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  using E = typename Form::Exp;
  constexpr int N = kPerAccess<T>;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kLanesThreads / kLanes) +
                           static_cast<int>(threadIdx.x) / kLanes;
  // The lanes of a warp stay together, whether they have a row or not.
  const bool has_row = row < logits.count;
  const T* const x = logits.row(has_row ? row : 0);
  const bool vector = reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  Held<T, kCount> held;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(lane + i * kLanes) * N;
    held.part[i] = no_access<T>();
    if (!has_row || at >= V) continue;
    held.part[i] =
        vector && at + N <= V ? load_last(reinterpret_cast<const Access<T>*>(x + at)) : gather(x, at, V);
  }
  const float own = held.largest();
  const Normalizer n = merge_lanes<E>({own, held.template sum<E>(reference(own))}, kLanes);
  if (!has_row) return;
  if constexpr (Form::op == Op::lse) {
    if (lane == 0) *probs.row(row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    T* const p = probs.row(row);
    const bool whole = reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
    const Form form(n);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(lane + i * kLanes) * N;
      if (at >= V) continue;
      auto c = as_floats(held.part[i]);
      form.template outputs<T>(c);
      if (whole && at + N <= V) {
        store_last(reinterpret_cast<Access<T>*>(p + at), as_elements<T>(c));
      } else {
#pragma unroll
        for (int j = 0; j < N; ++j)
          if (at + j < V) p[at + j] = from_float<T>(c.x[j]);
      }
    }
  }
  if (m && lane == 0) store_normalizer(m, d, row, n);
}

}  // namespace assay::ASSAY_BACKEND::onepass
