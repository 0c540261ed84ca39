// SPDX-License-Identifier: Apache-2.0
// The k best of the candidates, in order, and what is written of them.
#pragma once

#include "kernels/building_blocks/onepass_topk/buffer.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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
