// SPDX-License-Identifier: Apache-2.0
// Rungs 3 to 5: a team of blocks per row (team.cuh). Each block holds its slice of the row in registers,
// kCount accesses a thread. A slice that does not fit (kAgain) is read in tiles; its last tile stays, and the
// others are read a second time.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/onepass/cluster.cuh"
#include "kernels/building_blocks/onepass/grid.cuh"
#include "kernels/building_blocks/onepass/slice.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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

}  // namespace assay::ASSAY_BACKEND::onepass
