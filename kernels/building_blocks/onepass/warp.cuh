// SPDX-License-Identifier: Apache-2.0
// Rung 2, short rows: a warp holds a row. No shared memory, no barrier.
#pragma once

#include "kernels/building_blocks/onepass/slice.cuh"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kWarpThreads = 256;

template <class Form, class T, int kCount>
__global__ void __launch_bounds__(kWarpThreads)
    warp_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  using E = typename Form::Exp;
  constexpr int kWarps = kWarpThreads / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  wait_for_previous();
  if (row >= logits.count) return;
  const T* const x = logits.row(row);
  const Parts<T> parts(x, V, kAnywhere<Form>);
  const auto accesses = static_cast<int>(parts.accesses);
  Held<T, kCount, kAnywhere<Form>> held;
  held.load(reinterpret_cast<const Access<T>*>(x + parts.head), accesses, lane, 32);
  const Edge<T> edge(x, parts, 0, lane);
  const float own = fmaxf(held.largest(), edge.x);
  const float shift = reference(own);
  const Normalizer n =
      merge_lanes<E>({own, held.template sum<E>(shift) + edge.template term<E>(shift, lane)});
  if constexpr (Form::op == Op::lse) {
    if (lane == 0) *probs.row(row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    T* const p = probs.row(row);
    const Form form(n);
    const auto outputs = [&](auto& c) { form.template outputs<T>(c); };
    held.store(p + parts.head, accesses, lane, 32, reinterpret_cast<std::uintptr_t>(p + parts.head) % 16 == 0,
               outputs);
    edge.store(p, outputs);
  }
  if (m && lane == 0) store_normalizer(m, d, row, n);
}

}  // namespace assay::ASSAY_BACKEND::onepass
