// SPDX-License-Identifier: Apache-2.0
// What the kernels of min_p and top_p share. The set that they keep is that of the largest elements, so the
// candidates of a top-k are enough where the set is small. The outputs are a whole row: 0 outside the set.
#pragma once

#include "kernels/building_blocks/onepass_topk/ladder.cuh"
#include "kernels/building_blocks/onepass_topk/softmax_of_slots.cuh"
#include "kernels/building_blocks/row_write.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Warps of a block that takes a row.
inline constexpr int kSetWarps = kSelectThreads / 32;

/// What TopkLadder computes where the logits are wanted and, of the exps, (m, d) alone.
template <class E>
struct LogitsAndSum {
  static constexpr Op op = Op::softmax;
  using Exp = E;
  __device__ __forceinline__ explicit LogitsAndSum(Normalizer) {}
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>&) const {}
};

/// The best elements of every row, in order: their logits and columns, and (m, d) of the whole row.
template <class T>
struct BestOfRows {
  Rows<T> logits;
  const void* columns;
  const float *m, *d;
  int count;  // of a row; fewer if the row is shorter; 0: none were looked for
  bool wide;

  __device__ __forceinline__ long long column(std::int64_t row, int slot) const {
    const std::int64_t at = row * logits.pitch + slot;
    return wide ? static_cast<const long long*>(columns)[at] : static_cast<const int*>(columns)[at];
  }
};

/// A workspace: what the selection needs, then its results.
struct KeptPlaces {
  std::size_t columns, normalizers, values, end;

  KeptPlaces(const Problem& p, std::size_t selection, int count) {
    const auto rows = static_cast<std::size_t>(p.rows), all = rows * static_cast<std::size_t>(count);
    columns = (selection + 15) / 16 * 16;
    normalizers = columns + all * static_cast<std::size_t>(p.index_bytes());
    values = normalizers + rows * 2 * sizeof(float);
    end = values + all * size_of(p.in);
  }
};
/// The selection as a problem of its own.
inline Problem selection_of(Problem p, int count) {
  p.op = Op::topk;
  p.k = count;
  p.out_pitch = count;
  return p;
}
template <class Form>
std::size_t kept_bytes(const Problem& p, int count) {
  const Problem selection = selection_of(p, count);
  return KeptPlaces(p, TopkLadder<Form>::workspace_bytes(selection), count).end;
}

/// Launches the selection of the `count` best of every row. Only the kernels for this count are compiled. Of
/// rows whose columns do not fit into candidates there are none: beyond.cuh would read the row `count` times.
template <class Form, int count, class T>
BestOfRows<T> launch_selection(const Call<T>& c) {
  const Problem p = selection_of(c.problem, count);
  const KeptPlaces at(p, TopkLadder<Form>::workspace_bytes(p), count);
  auto* const base = static_cast<char*>(c.buffers.workspace);
  Buffers b = c.buffers;
  b.probs = base + at.values;
  b.indices = base + at.columns;
  b.m = reinterpret_cast<float*>(base + at.normalizers);
  b.d = b.m + p.rows;
  const Call<T> selection(p, b, c.stream);
  const bool found = c.V <= kLongest;
  if (found)
    launch_one_read<Form, count>(selection);
  else
    launch_normalizers<Form>(selection, b.m, b.d);
  return {{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.indices, b.m, b.d, found ? count : 0, c.wide};
}

/// p[0..V) = y, by all threads of a block of kSelectThreads.
template <class T>
__device__ __forceinline__ void fill_row(T* p, std::int64_t V, float y) {
  constexpr int N = kPerAccess<T>;
  const std::int64_t to_boundary =
      static_cast<std::int64_t>((16 - reinterpret_cast<std::uintptr_t>(p) % 16) % 16 / sizeof(T));
  const std::int64_t head = to_boundary < V ? to_boundary : V, accesses = (V - head) / N;
  Chunk<N> c;
  for (float& x : c.x) x = y;
  const Access<T> all = as_elements<T>(c);
  Access<T>* const body = reinterpret_cast<Access<T>*>(p + head);
  const std::int64_t thread = threadIdx.x, last = head + accesses * N + thread;
  for (std::int64_t i = thread; i < accesses; i += kSelectThreads) body[i] = all;
  if (thread < head) p[thread] = from_float<T>(y);
  if (last < V) p[last] = from_float<T>(y);
}

/// True if no set can be kept: a NaN or +inf in the row, or nothing but -inf. The whole row becomes NaN.
__device__ __forceinline__ bool no_set(float m, float d) { return d != d || m == negative_infinity(); }

/// Writes a row of which the best `kept` candidates are the set, and n their (m, d). All threads must call
/// it.
template <class Form, class T, class Tempering>
__device__ __forceinline__ void put_kept(const BestOfRows<T>& best, std::int64_t row, int kept, Normalizer n,
                                         const Tempering& by, T* p, std::int64_t V) {
  fill_row(p, V, 0.0f);
  __syncthreads();  // the zeros are there
  const Form form(Normalizer{by.maximum(n.m), n.d});
  const T* const x = best.logits.row(row);
  for (int slot = static_cast<int>(threadIdx.x); slot < kept; slot += kSelectThreads) {
    Chunk<1> c = single(by.logit(to_float(x[slot]), n.m));
    form.template outputs<T>(c);
    p[best.column(row, slot)] = from_float<T>(c.x[0]);
  }
}

}  // namespace assay::ASSAY_BACKEND::onepass
