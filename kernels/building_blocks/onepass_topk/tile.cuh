// SPDX-License-Identifier: Apache-2.0
// How a block reads rows for a selection: piece by piece, a piece tile by tile. The tiles pass through two
// stages of shared memory, which one thread has filled from behind, so that loads are on their way while the
// block waits at barriers, and while it ends one row and begins the next.
#pragma once

#include "kernels/building_blocks/onepass/barrier.cuh"
#include "kernels/building_blocks/onepass/slice.cuh"
#include "kernels/building_blocks/onepass_topk/bound.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Accesses of a thread in a tile.
inline constexpr int kTileCount = 4;
template <int kThreads>
inline constexpr unsigned kTileAccesses = kThreads* kTileCount;
inline constexpr int kStages = 2;
template <int kThreads>
inline constexpr std::size_t kRingBytes = std::size_t{kStages} * kTileAccesses<kThreads> * 16;

/// The pieces of a launch: `parts` equal ones of each row.
template <class T>
struct Pieces {
  Rows<const T> logits;
  std::int64_t V;
  int parts;

  __device__ __forceinline__ std::int64_t count() const { return logits.count * parts; }
  __device__ __forceinline__ std::int64_t row(std::int64_t piece) const {
    return parts == 1
               ? piece
               : static_cast<std::int64_t>(static_cast<unsigned>(piece) / static_cast<unsigned>(parts));
  }
};

/// A tile: accesses `at` to at + size() - 1 of a row's body. The first tile of a row has the elements before
/// the body too, the last one those after it. Columns have 32 bits.
template <class T, int kThreads>
struct Tile {
  static constexpr unsigned kAccesses = kTileAccesses<kThreads>;
  const T* x;
  unsigned columns, head, accesses;
  unsigned begin, end, at;  // of the piece; of the tile

  /// The first tile of a piece.
  __device__ __forceinline__ Tile(const Pieces<T>& p, std::int64_t piece)
      : x(p.logits.row(p.row(piece))), columns(static_cast<unsigned>(p.V)) {
    const Parts<T> parts(x, p.V);
    head = static_cast<unsigned>(parts.head);
    accesses = static_cast<unsigned>(parts.accesses);
    begin = 0;
    end = accesses;
    if (p.parts > 1) {
      const auto part = static_cast<unsigned>(piece) % static_cast<unsigned>(p.parts);
      const unsigned whole = slice_of(accesses, static_cast<unsigned>(p.parts));
      begin = min(part * whole, accesses);
      end = min(begin + whole, accesses);
    }
    at = begin;
  }
  __device__ __forceinline__ bool first() const { return at == begin; }
  __device__ __forceinline__ bool last() const { return end - at <= kAccesses; }
  /// True if the calling thread may have an edge element.
  __device__ __forceinline__ bool outer() const { return at == 0 || (last() && end == accesses); }
  __device__ __forceinline__ unsigned size() const { return last() ? end - at : kAccesses; }
  /// True if a bound is taken before it is collected: in tiles 0, 1, 3, 7, 15 ... of a piece.
  __device__ __forceinline__ bool bounded() const {
    const unsigned turn = (at - begin) / kAccesses;
    return (turn & (turn + 1)) == 0;
  }
  __device__ __forceinline__ const Access<T>* from() const {
    return reinterpret_cast<const Access<T>*>(x + head) + at;
  }
  __device__ __forceinline__ unsigned column(unsigned access) const {
    return head + (at + access) * kPerAccess<T>;
  }
  /// Column of the calling thread's edge element, or `columns`.
  __device__ __forceinline__ unsigned edge() const {
    const unsigned thread = threadIdx.x;
    if (thread < head) return at == 0 ? thread : columns;
    // Not by the sum: it may pass 2^32.
    const bool there = last() && end == accesses && thread < columns - accesses * kPerAccess<T>;
    return there ? accesses * kPerAccess<T> + thread : columns;
  }
};

/// The stages. Tile number n of a block lies in stage n mod kStages. On GPUs before compute capability 9.0,
/// which have no bulk copies, each thread copies its own accesses.
template <class T, int kThreads>
struct Ring {
  using Tile = onepass::Tile<T, kThreads>;
  /// What one thread knows of the tiles to be copied next: `left` accesses of piece `piece`, at `from`; null
  /// if there are no more. The tiles of a piece follow each other, so that a copy needs no more than this.
  struct Shared {
    Barrier arrived[kStages];
    std::int64_t piece;
    const Access<T>* from;
    unsigned left, copied;
  };
  Access<T>* const stages;
  Shared& shared;
  unsigned used = 0;

  __device__ __forceinline__ Ring(Access<T>* s, Shared& sh) : stages(s), shared(sh) {}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  /// One thread; the others see it after a barrier.
  __device__ __forceinline__ void start(const Pieces<T>& pieces) {
    for (Barrier& b : shared.arrived) b.start();
    shared.copied = 0;
    begin(pieces, blockIdx.x);
    for (int i = 0; i < kStages; ++i) copy_next(pieces);
  }
  /// One thread, when all threads are done with the stage.
  __device__ __forceinline__ void copy_next(const Pieces<T>& pieces) {
    const Access<T>* const from = shared.from;
    if (!from) return;
    const unsigned left = shared.left, some = min(left, Tile::kAccesses), stage = shared.copied++ % kStages;
    const int bytes = static_cast<int>(some) * 16;
    shared.arrived[stage].expect(bytes);
    if (bytes) copy_in(stages + stage * Tile::kAccesses, from, bytes, shared.arrived[stage]);
    if (some == left) return begin(pieces, shared.piece + gridDim.x);
    shared.from = from + some;
    shared.left = left - some;
  }
  __device__ __forceinline__ const Access<T>* wait(const Tile&) const {
    shared.arrived[used % kStages].wait(used / kStages % 2);
    return stages + used % kStages * Tile::kAccesses;
  }
#else
  __device__ __forceinline__ void start(const Pieces<T>&) {}
  __device__ __forceinline__ void copy_next(const Pieces<T>&) {}
  __device__ __forceinline__ const Access<T>* wait(const Tile& tile) const {
    for (unsigned i = threadIdx.x; i < tile.size(); i += kThreads) stages[i] = load_last(tile.from() + i);
    return stages;
  }
#endif
  __device__ __forceinline__ void leave() { ++used; }

 private:
  __device__ __forceinline__ void begin(const Pieces<T>& pieces, std::int64_t piece) {
    shared.piece = piece;
    shared.from = nullptr;
    if (piece >= pieces.count()) return;
    const Tile tile(pieces, piece);
    shared.from = tile.from();
    shared.left = tile.end - tile.at;
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
