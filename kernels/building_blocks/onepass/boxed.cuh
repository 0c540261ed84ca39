// SPDX-License-Identifier: Apache-2.0
// Rung 5, rows too long for the registers of a cluster: the first `room` accesses of each slice are held in
// shared memory, the others in registers. One bulk copy fills the shared memory while the registers are
// loaded. It needs rows at multiples of 16 bytes; where the body begins anywhere, the threads copy.
#pragma once

#include "kernels/building_blocks/onepass/block.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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
