// SPDX-License-Identifier: Apache-2.0
// Rungs 3 to 5: a team of blocks per row (team.cuh). Each block holds its slice of the row in registers,
// kCount accesses a thread. A slice that does not fit (kAgain) is read in tiles; its last tile stays, and the
// others are read a second time.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/onepass/team.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Rung 2, short rows: a warp holds a row. No shared memory, no barrier.
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

/// Most threads of a block. It limits a thread to 64 registers, half of them for the row, so that a block of
/// this size fits into an SM.
inline constexpr int kMostThreads = 1024;

template <class Form, class Team, class T, int kCount, bool kAgain>
__global__ void __launch_bounds__(kMostThreads)
    block_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V,
               typename Team::Where where) {
  constexpr bool kApart = sizeof(T) == 2;
  using E = typename Form::Exp;
  using Index = std::conditional_t<kAgain, std::int64_t, int>;
  ASSAY_SHARED(typename Team::Shared, shared, 1);
  Team team(where, shared[0]);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const T* const x = logits.row(team.row);
  const Parts<T> parts(x, V, kAnywhere<Form>);
  const Slice<T, Index> slice(x, parts, team.rank, team.blocks);
  const int tile = threads * kCount;
  const Index last =  // where the last tile starts
      kAgain && slice.count > tile ? (slice.count - 1) / tile * tile : 0;
  const int in_last = static_cast<int>(slice.count - last);

  wait_for_previous();
  Held<T, kCount, kAnywhere<Form>> held;
  Normalizer n = identity();
  if constexpr (kAgain) {
    for (Index at = 0; at < last; at += tile) {
      held.load(slice.from + at, tile, thread, threads);
      const float own = held.largest();
      n = combine<E>(n, folded({own, held.template sum<E>(reference(own))}));
    }
  }
  held.load(slice.from + last, in_last, thread, threads);
  const Edge<T> edge(x, parts, team.rank, thread);
  const float own = fmaxf(held.largest(), edge.x);
  const float shift = reference(own);
  held.forget();
  Normalizer kept{own, held.template sum<E>(shift)};
  kept.d += edge.template term<E>(shift, thread);
  if constexpr (kAgain) kept = combine<E>(n, folded(kept));
  n = team.template merge<E>(kept);
  held.forget();

  if constexpr (Form::op == Op::lse) {
    if (team.rank == 0 && thread == 0) *probs.row(team.row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    T* const p = probs.row(team.row);
    T* const to = slice.to(p, parts);
    const bool vector = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
    const Form form(n);
    const auto outputs = [&](auto& c) { form.template outputs<T>(c); };
    held.template store<kApart>(to + last * kPerAccess<T>, in_last, thread, threads, vector, outputs);
    edge.store(p, outputs);
    if constexpr (kAgain) {
      for (Index at = last - tile; at >= 0; at -= tile) {
        held.load(slice.from + at, tile, thread, threads);
        held.template store<kApart>(to + at * kPerAccess<T>, tile, thread, threads, vector, outputs);
      }
    }
  }
  if (m && team.rank == 0 && thread == 0) store_normalizer(m, d, team.row, n);
  team.end();
}

/// Rung 5, rows too long for the registers of a cluster: the first `room` accesses of each slice are held in
/// shared memory, the others in registers. One bulk copy fills the shared memory while the registers are
/// loaded. It needs rows at multiples of 16 bytes; where the body begins anywhere, the threads copy.
template <class Form, class Team, class T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    boxed_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V,
               typename Team::Where where, int room) {
  using E = typename Form::Exp;
  constexpr bool kApart = sizeof(T) == 2;
  constexpr int kAtOnce = 2;  // accesses that a thread takes out of shared memory at a time
  ASSAY_SHARED(typename Team::Shared, shared, 1);
  ASSAY_SHARED(Barrier, arrived, 1);
  ASSAY_DYNAMIC_SHARED(Access<T>, box);
  Team team(where, shared[0]);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (thread == 0) arrived[0].start();
  __syncthreads();
  const T* const x = logits.row(team.row);
  const Parts<T> parts(x, V, kAnywhere<Form>);
  const Slice<T, int> slice(x, parts, team.rank, team.blocks);
  const int in_box = slice.count < room ? slice.count : room;
  const bool copied = !kAnywhere<Form> || reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  wait_for_previous();
  if (copied && thread == 0) {
    arrived[0].expect(in_box * 16);
    if (in_box) copy_in(box, slice.from, in_box * 16, arrived[0]);
  }
  const Edge<T> edge(x, parts, team.rank, thread);
  Held<T, kCount, kAnywhere<Form>> held;
  Held<T, kAtOnce, kAnywhere<Form>> part;
  held.load(slice.from + in_box, slice.count - in_box, thread, threads);
  const float own = fmaxf(held.largest(), edge.x);
  const float shift = reference(own);
  held.forget();
  Normalizer n{own, held.template sum<E>(shift)};
  n.d += edge.template term<E>(shift, thread);
  n = folded(n);
  if (copied) arrived[0].wait(0);
  for (int at = 0; at < in_box; at += threads * kAtOnce) {
    if (copied) {
      part.load_shared(box + at, in_box - at, thread, threads);
    } else {  // a thread reads again only what it has written itself
      part.load(slice.from + at, in_box - at, thread, threads);
      part.store_shared(box + at, in_box - at, thread, threads);
    }
    const float most = part.largest();
    n = combine<E>(n, folded({most, part.template sum<E>(reference(most))}));
  }
  n = team.template merge<E>(n);
  held.forget();

  if constexpr (Form::op == Op::lse) {
    if (team.rank == 0 && thread == 0) *probs.row(team.row) = from_float<T>(Form::of(n));
  } else if (probs.base) {
    T* const p = probs.row(team.row);
    T* const to = slice.to(p, parts);
    const bool vector = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
    const Form form(n);
    const auto outputs = [&](auto& c) { form.template outputs<T>(c); };
    // The box first: on an H200, f32, V = 524,288, this is 3 % faster than the registers first.
    for (int at = 0; at < in_box; at += threads * kAtOnce) {
      part.load_shared(box + at, in_box - at, thread, threads);
      part.template store<kApart>(to + static_cast<std::int64_t>(at) * kPerAccess<T>, in_box - at, thread,
                                  threads, vector, outputs);
    }
    held.template store<kApart>(to + static_cast<std::int64_t>(in_box) * kPerAccess<T>, slice.count - in_box,
                                thread, threads, vector, outputs);
    edge.store(p, outputs);
  }
  if (m && team.rank == 0 && thread == 0) store_normalizer(m, d, team.row, n);
  team.end();
}

}  // namespace assay::ASSAY_BACKEND::onepass
