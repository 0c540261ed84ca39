// SPDX-License-Identifier: Apache-2.0
// Softmax and top-k in one read, tile by tile. What an element costs beside its exp is the maximum that the
// exp needs anyway. A block takes rows, or parts of rows, in turn. Of a part it leaves (m, d) and candidates;
// sharing.cuh.
#pragma once

#include "kernels/building_blocks/onepass/team.cuh"
#include "kernels/building_blocks/onepass_topk/buffer.cuh"
#include "kernels/building_blocks/onepass_topk/collect.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Largest k of this path.
inline constexpr int kStreamK = 256;
/// Room for candidates, for k up to kFew and up to kStreamK.
inline constexpr int kSmallRoom = 512, kLargeRoom = 2048;
/// Blocks that a multiprocessor holds. It limits a thread to 64 registers.
template <int kThreads>
inline constexpr int kTopkBlocks = 1024 / kThreads;

/// What a thread knows of the tiles so far. In shared memory, because the registers are full.
struct alignas(16) Running {
  Normalizer n;
  float2 maxima;
};

/// The larger elements of what a thread holds: two maxima, over different elements, without NaN.
template <class T, int kCount>
__device__ __forceinline__ float2 two_largest(const Held<T, kCount>& held) {
  const Access<T> most = held.largest_of_each();
  if constexpr (sizeof(T) == 2) {
    typename PairOf<T>::type p[4];
    memcpy(p, &most, 16);
    return PairOf<T>::unpack(__hmax2(__hmax2(p[0], p[1]), __hmax2(p[2], p[3])));
  } else {
    return {fmaxf(most.e[0], most.e[1]), fmaxf(most.e[2], most.e[3])};
  }
}

/// Adds the calling thread's part of a tile. Returns its maximum without the edges.
template <class E, class T, int kThreads>
__device__ __forceinline__ float fold_tile(const Tile<T, kThreads>& tile, const Access<T>* stage,
                                           Running& to) {
  const int thread = static_cast<int>(threadIdx.x);
  Held<T, kTileCount> held;
  if (tile.last())
    held.load_shared(stage, static_cast<int>(tile.size()), thread, kThreads);
  else
    held.load_whole_shared(stage + thread, kThreads);
  const float2 two = two_largest(held);
  const float largest = fmaxf(two.x, two.y);
  float own = largest, edge_x = negative_infinity();
  const bool at_edge = tile.outer() && tile.edge() < tile.columns;
  if (at_edge) {
    edge_x = to_float(tile.x[tile.edge()]);
    own = fmaxf(own, edge_x);
  }
  const float shift = reference(own);
  held.forget();
  Normalizer more{own, held.template sum<E>(shift)};
  if (at_edge) more.d += E::of(edge_x - shift);
  to = {combine<E>(to.n, folded(more)), {fmaxf(to.maxima.x, two.x), fmaxf(to.maxima.y, two.y)}};
  return largest;
}

/// What the threads of a block know of a piece, and its warps at the end.
template <int kThreads>
struct PieceShared {
  Running running[kThreads];
  Normalizer warps[kThreads / 32];

  /// (m, d) of the piece, after its last barrier.
  template <class E>
  __device__ __forceinline__ Normalizer merged() const {
    constexpr int kWarps = kThreads / 32;
    return merge_lanes<E>(folded(warps[threadIdx.x % kWarps]), kWarps);
  }
};

/// Leaves the candidates of a piece in `buffer`, its k best among them, and (m, d) of each warp in `shared`;
/// all are there at the end. All threads must call it. `wanted`: k is at least 1.
template <class E, class T, int kRoom, int kThreads>
__device__ __forceinline__ void select_piece(const Pieces<T>& pieces, std::int64_t piece, int k, bool wanted,
                                             Ring<T, kThreads>& ring, Buffer<kRoom, kThreads>& buffer,
                                             PieceShared<kThreads>& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  Running& running = shared.running[thread];
  running = {identity(), {negative_infinity(), negative_infinity()}};
  if (thread == 0) buffer.count = 0;
  __syncthreads();  // the buffer is empty; the ring has been started
  float floor = wanted ? negative_infinity() : quiet_nan();
  for (Tile<T, kThreads> tile(pieces, piece);; tile.at += tile.kAccesses) {
    const Access<T>* const stage = ring.wait(tile);
    const float largest = fold_tile<E>(tile, stage, running);
    const TileSource<T, kThreads> source{tile, stage};
    const float bound =
        wanted && tile.bounded() ? groups_bound<T>(running.maxima, k, buffer.bound) : negative_infinity();
    floor = higher(floor, bound);
    const bool room = source.collect_some(largest, floor, buffer);
    if (tile.last()) {
      const Normalizer own = merge_lanes<E>(running.n);
      if (thread % 32 == 0) shared.warps[thread / 32] = own;
    }
    floor = __syncthreads_or(!room)
                ? collect_again<T>(source, running.maxima, floor, bound == floor, k, buffer)
                : floor_after(floor, bound);
    if (thread == 0) ring.copy_next(pieces);
    ring.leave();
    if (tile.last()) return;
  }
}

/// Where the parts of a launch leave (m, d) and `room` candidates each, for sharing.cuh. 0 is no candidate.
struct Workplace {
  Normalizer* normalizers;
  Candidate* candidates;
  int room;
};

template <class Form, class T, int kRoom, int kThreads>
__global__ void __launch_bounds__(kThreads, kTopkBlocks<kThreads>)
    topk_stream(Pieces<T> pieces, Selected<T> to, float* m, float* d, Workplace workplace) {
  using E = typename Form::Exp;
  using Buffer = onepass::Buffer<kRoom, kThreads>;
  using Ring = onepass::Ring<T, kThreads>;
  ASSAY_SHARED(PieceShared<kThreads>, shared, 1);
  ASSAY_SHARED(Buffer, buffers, 1);
  ASSAY_SHARED(typename Ring::Shared, ring_shared, 1);
  ASSAY_DYNAMIC_SHARED(Access<T>, stages);
  Buffer& buffer = buffers[0];
  const int thread = static_cast<int>(threadIdx.x), k = to.k;
  const bool wanted = to.values.base != nullptr;
  Ring ring(stages, ring_shared[0]);
  if (thread == 0) ring.start(pieces);
  for (std::int64_t piece = blockIdx.x; piece < pieces.count(); piece += gridDim.x) {
    select_piece<E>(pieces, piece, k, wanted, ring, buffer, shared[0]);
    const Normalizer n = shared[0].template merged<E>();
    const std::int64_t row = pieces.row(piece);
    if (pieces.parts > 1) {
      if (thread == 0) workplace.normalizers[piece] = n;
      if (wanted) {
        Candidate* const left = workplace.candidates + piece * workplace.room;
        in_order(buffer, k, [=](int slot, Candidate c) { left[slot] = c; });
        for (int slot = buffer.size() + thread; slot < k; slot += kThreads) left[slot] = 0;
      }
    } else {
      if (wanted) put_best<Form>(buffer, to, pieces.logits.row(row), row, pieces.V, n);
      if (m && thread == 0) store_normalizer(m, d, row, n);
    }
    __syncthreads();  // the candidates have been read
  }
}

}  // namespace assay::ASSAY_BACKEND::onepass
