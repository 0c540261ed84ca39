// Rungs 3 to 5: a team of blocks per row (team.cuh). Each block holds its slice of the row in registers,
// kCount accesses a thread. A slice that does not fit (kAgain) is read in tiles; its last tile stays, and the
// others are read a second time.
#pragma once

#include <type_traits>

#include "kernels/building_blocks/onepass/team.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Most threads of a block. It limits a thread to 64 registers, half of them for the row, so that a block of
/// this size fits into an SM.
inline constexpr int kMostThreads = 1024;

template <class Form, class Team, class T, int kCount, bool kAgain>
__global__ void __launch_bounds__(kMostThreads)
    block_rung(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V, int blocks) {
  using E = typename Form::Exp;
  ASSAY_SHARED(Normalizer, values, Team::kBlocks * kMostWarps);
  Team team(blocks);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (; team.row < logits.count; team.row += team.rows_at_once) {
    const T* const x = logits.row(team.row);
    const Parts<T> parts(x, V);
    // Slices are whole sectors. Indices have 64 bits only where a slice may be longer than a tile.
    using Index = std::conditional_t<kAgain, std::int64_t, int>;
    const auto accesses = static_cast<Index>(parts.accesses);
    const Index slice =
        team.blocks == 1 ? accesses : ((accesses + team.blocks - 1) / team.blocks + 1) / 2 * 2;
    const Index first = team.rank * slice;
    const Index left = accesses - first;
    const Index count = left < 0 ? 0 : left < slice ? left : slice;
    const T* const from = x + parts.head + static_cast<std::int64_t>(first) * kPerAccess<T>;
    const int tile = threads * kCount;
    const Index last = kAgain && count > tile ? (count - 1) / tile * tile : 0;  // where the last tile starts
    const int in_last = static_cast<int>(count - last);

    const std::int64_t edge_at = team.rank == 0 ? parts.edge(thread) : -1;
    const float edge = edge_at >= 0 ? to_float(x[edge_at]) : negative_infinity();
    Held<T, kCount> held;
    Normalizer n = identity();
    if constexpr (kAgain) {
      for (Index at = 0; at < last; at += tile) {
        held.load(reinterpret_cast<const Access<T>*>(from) + at, tile, thread, threads);
        const float own = held.largest();
        n = combine<E>(n, folded({own, held.template sum<E>(reference(own))}));
      }
    }
    held.load(reinterpret_cast<const Access<T>*>(from) + last, in_last, thread, threads);
    const float own = fmaxf(held.largest(), edge);
    const float shift = reference(own);
    held.forget();
    Normalizer kept{own, held.template sum<E>(shift)};
    if (thread < 32) kept.d += E::of(edge - shift);  // no other warp has an edge
    if constexpr (kAgain) kept = combine<E>(n, folded(kept));
    n = team.template merge<E>(kept, values);
    held.forget();

    if (probs.base) {
      T* const p = probs.row(team.row);
      T* const to = p + parts.head + static_cast<std::int64_t>(first) * kPerAccess<T>;
      const bool vector = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
      const Form form(n);
      const auto outputs = [&](auto& c) { form.template outputs<T>(c); };
      held.store(to + last * kPerAccess<T>, in_last, thread, threads, vector, outputs);
      if (edge_at >= 0) {
        Chunk<1> c = single(edge);
        outputs(c);
        p[edge_at] = from_float<T>(c.x[0]);
      }
      if constexpr (kAgain) {
        for (Index at = last - tile; at >= 0; at -= tile) {
          held.load(reinterpret_cast<const Access<T>*>(from) + at, tile, thread, threads);
          held.store(to + at * kPerAccess<T>, tile, thread, threads, vector, outputs);
        }
      }
    }
    if (m && team.rank == 0 && thread == 0) store_normalizer(m, d, team.row, n);
    team.end_of_row();
  }
  if constexpr (Team::kBlocks > 1) team.end();
}

}  // namespace assay::ASSAY_BACKEND::onepass
