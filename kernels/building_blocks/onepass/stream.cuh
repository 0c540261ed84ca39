// SPDX-License-Identifier: Apache-2.0
// The rung of long rows for an op that writes one value a row: nothing is stored after the sum, so nothing
// has to be held. A block reads its row tile by tile. Several such blocks on a multiprocessor keep its loads
// coming while one of them merges or begins: on an H200 in f16, V = 128,256, that is 98 % of a plain read's
// speed, and 71 % where a cluster holds the row.
#pragma once

#include "kernels/building_blocks/onepass/team.cuh"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kStreamThreads = 256;
/// Accesses of a thread in a tile.
inline constexpr int kStreamCount = 4;
/// Blocks that a multiprocessor holds. It limits a thread to 40 registers, 16 of them for the tile.
inline constexpr int kStreamBlocks = 6;

template <class Form, class T>
__global__ void __launch_bounds__(kStreamThreads, kStreamBlocks)
    stream_rung(Rows<const T> logits, Rows<T> values, float* m, float* d, std::int64_t V) {
  using E = typename Form::Exp;
  constexpr int kTile = kStreamThreads * kStreamCount;
  ASSAY_SHARED(Alone::Shared, shared, 1);
  const Alone team({}, shared[0]);
  const int thread = static_cast<int>(threadIdx.x);
  const T* const x = logits.row(team.row);
  const Parts<T> parts(x, V);
  const auto* const from = reinterpret_cast<const Access<T>*>(x + parts.head);
  wait_for_previous();
  const Edge<T> edge(x, parts, 0, thread);
  Normalizer n = identity();
  Held<T, kStreamCount> tile;
  const auto add = [&](float with) {
    const float own = fmaxf(tile.largest(), with);
    const float shift = reference(own);
    tile.forget();
    return Normalizer{own, tile.template sum<E>(shift)};
  };
  std::int64_t at = 0;
  for (; at + kTile <= parts.accesses; at += kTile) {
    tile.load(from + at, kTile, thread, kStreamThreads);
    n = combine<E>(n, folded(add(negative_infinity())));
  }
  tile.load(from + at, static_cast<int>(parts.accesses - at), thread, kStreamThreads);
  Normalizer last = add(edge.x);
  last.d += edge.template term<E>(reference(last.m), thread);
  n = team.template merge<E>(combine<E>(n, folded(last)));
  if (thread != 0) return;
  if (values.base) *values.row(team.row) = from_float<T>(Form::of(n));
  if (m) store_normalizer(m, d, team.row, n);
}

}  // namespace assay::ASSAY_BACKEND::onepass
