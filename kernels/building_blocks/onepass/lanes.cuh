// SPDX-License-Identifier: Apache-2.0
// Rung 1, the shortest rows: several rows per warp. kLanes neighbouring lanes, a power of two, hold a row
// in kCount accesses each. Access c is always elements cN .. cN + N - 1 of the row, wherever the row lies:
// how it is moved makes no difference to its bits.
//   whole accesses   if every row consists of them, in and out
//   staged           many rows without gaps: those of a block together, through shared memory (staged.cuh)
//   element by element, whatever is no access at a multiple of 16 bytes
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"
#include "kernels/building_blocks/onepass/staged.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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
