// SPDX-License-Identifier: Apache-2.0
// Rows of 2^32 - 1 elements and more, whose columns do not fit into a candidate: k rounds, each of which
// looks for the best element that ranks after the last. It reads a row k + 1 times.
#pragma once

#include "kernels/building_blocks/onepass/stream.cuh"
#include "kernels/building_blocks/onepass_topk/buffer.cuh"
#include "kernels/building_blocks/radix.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// The best of a row's elements that rank after `last`.
template <class T>
__device__ __forceinline__ Ranked best_after(const T* x, std::int64_t V, Ranked last) {
  Ranked best = Best::neutral();
  for (std::int64_t i = threadIdx.x; i < V; i += kSelectThreads) {
    const Ranked own{rank_key(to_float(x[i])), i};
    if (ranks_before(last, own)) best = Best::merge(best, own);
  }
  return block_reduce<Best, kSelectThreads>(best);
}

/// `row_m` and `row_d` are there.
template <class Form, class T>
__global__ void __launch_bounds__(kSelectThreads)
    topk_rounds(Rows<const T> logits, Selected<T> to, const float* row_m, const float* row_d, float* m,
                float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    const Normalizer n{row_m[row], row_d[row]};
    if (m && threadIdx.x == 0) store_normalizer(m, d, row, n);
    if (!to.values.base) continue;
    const Form form(n);
    Ranked last{0x7fffffff, -1};  // ranks before all
    for (int slot = 0; slot < to.k; ++slot) {
      last = best_after(x, V, last);
      const bool none = last.index == kNoIndex;
      if (threadIdx.x == 0)
        put(to, row, slot, none ? 0.0f : to_float(x[last.index]), none ? -1 : last.index, form);
      if (none) last = {kNoKey, kNoIndex};
    }
  }
}

// k beyond the candidates' room: the first stage leaves (m, d) alone, and a radix selection finds the k best.
// It reads a row once for each digit and once more to collect.

/// `row_m` and `row_d` are there.
template <class Form, class T>
__global__ void __launch_bounds__(kRadixThreads)
    topk_radix(Rows<const T> logits, Selected<T> to, const float* row_m, const float* row_d, float* m,
               float* d, std::int64_t V, RadixPlace place) {
  ASSAY_SHARED(RadixShared, radix, 1);
  RadixShared& shared = radix[0];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    const Normalizer n{row_m[row], row_d[row]};
    if (m && thread == 0) store_normalizer(m, d, row, n);
    if (!to.values.base) continue;
    clear_counts(shared);
    for (std::int64_t i = thread; i < V; i += kRadixThreads)
      count_digit(ascending_rank(to_float(x[i])) >> 24, shared);
    const Ordered o = best_of_row(x, V, to.k, place, shared);
    const Form form(n);
    for (int slot = thread; slot < to.k; slot += kRadixThreads) {
      const std::int64_t column = slot < o.count ? o.best[slot].column : -1;
      put(to, row, slot, column < 0 ? 0.0f : to_float(x[column]), column, form);
    }
    __syncthreads();  // the sorted elements have been read
  }
}

}  // namespace assay::ASSAY_BACKEND::onepass
