// SPDX-License-Identifier: Apache-2.0
// From tiles to candidates. A thread looks at its elements one by one only if their maximum reaches `floor`,
// below which no element of the row's k best can lie, and takes room for all that do at once. Tiles come in
// the order of the columns: of equal logits the earlier is there first, so after k of them a later one must
// exceed them.
#pragma once

#include "kernels/building_blocks/onepass/barrier.cuh"
#include "kernels/building_blocks/onepass/team.cuh"
#include "kernels/building_blocks/onepass_topk/bound.cuh"
#include "kernels/building_blocks/onepass_topk/buffer.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// How a block reads rows for a selection: piece by piece, a piece tile by tile. The tiles pass through two
// stages of shared memory, which one thread has filled from behind, so that loads are on their way while the
// block waits at barriers, and while it ends one row and begins the next.

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

/// The calling thread's elements of a tile: bit i x kPerAccess + j is element j of its access i.
template <class T, int kThreads>
struct OwnOfTile {
  static_assert(kTileCount * kPerAccess<T> <= 32);
  const Tile<T, kThreads>& tile;
  const Access<T>* stage;

  __device__ __forceinline__ static unsigned access(int bit) {
    return threadIdx.x + static_cast<unsigned>(bit) / kPerAccess<T> * kThreads;
  }
  __device__ __forceinline__ Candidate at(int bit) const {
    const unsigned j = static_cast<unsigned>(bit) % kPerAccess<T>;
    const float x = to_float(reinterpret_cast<const T*>(stage + access(bit))[j]);
    return candidate(x, tile.column(access(bit)) + j);
  }
  /// Those that reach `floor`.
  __device__ __forceinline__ unsigned reaching(float floor) const {
    unsigned mask = 0;
#pragma unroll 1  // it takes fewer registers
    for (int bit = 0; bit < kTileCount * kPerAccess<T>; bit += kPerAccess<T>) {
      if (access(bit) >= tile.size()) continue;
      const auto c = as_floats(stage[access(bit)]);
#pragma unroll
      for (int j = 0; j < kPerAccess<T>; ++j) mask |= c.x[j] >= floor ? 1u << (bit + j) : 0u;
    }
    return mask;
  }
  /// Those of `mask` that rank no later than `least`.
  __device__ __forceinline__ unsigned no_later(unsigned mask, Candidate least) const {
    unsigned left = mask;
    for (; mask; mask &= mask - 1)
      if (at(__ffs(static_cast<int>(mask)) - 1) < least) left &= ~(mask & (0u - mask));
    return left;
  }
};

template <class T, int kRoom, int kThreads>
__device__ __forceinline__ bool collect_edge(const Tile<T, kThreads>& tile, float floor, Candidate least,
                                             Buffer<kRoom, kThreads>& buffer) {
  if (!tile.outer()) return true;
  const unsigned column = tile.edge();
  if (column >= tile.columns) return true;
  const float x = to_float(tile.x[column]);
  if (!(x >= floor)) return true;
  const Candidate is = candidate(x, column);
  return is < least || buffer.push(is);
}

/// The larger of two floors. A NaN, which nothing reaches, is the largest that `floor` can be.
__device__ __forceinline__ float higher(float floor, float to) { return to > floor ? to : floor; }
/// The floor after a tile that was collected from `floor` = higher(..., bound) on, k elements up to there
/// having reached `bound`. Padding may be what reached -inf.
__device__ __forceinline__ float floor_after(float floor, float bound) {
  return bound == floor && bound != negative_infinity() ? next_above(bound) : floor;
}

/// Up to so many lanes of a warp with candidates are looked at one after the other.
inline constexpr int kFewLanes = 8;

/// A tile in a stage of the ring, as what candidates come from. A source has:
///   collect(floor, least, buffer)   the calling thread appends its part; false if something found no room
///   collect_first(floor, k, buffer) of those equal to `floor`, appends the first k and few more; false, and
///                                   nothing is to be kept, if there is no room. All threads must call it
///   earlier(c)                      true of candidates that come from before it
///   bounded()                       its maxima have given a bound already
///   kInOrder                        it has collect_first
template <class T, int kThreads>
struct TileSource {
  static constexpr bool kInOrder = true;
  Tile<T, kThreads> tile;
  const Access<T>* stage;

  template <int kRoom>
  __device__ __forceinline__ bool collect(float floor, Candidate least,
                                          Buffer<kRoom, kThreads>& buffer) const {
    const bool room = collect_edge(tile, floor, least, buffer);
    return collect_own(floor, least, buffer) && room;
  }
  /// The same without the edge.
  template <int kRoom>
  __device__ __forceinline__ bool collect_own(float floor, Candidate least,
                                              Buffer<kRoom, kThreads>& buffer) const {
    const OwnOfTile<T, kThreads> own{tile, stage};
    unsigned mask = own.reaching(floor);
    if (least) mask = own.no_later(mask, least);
    return buffer.push_each(mask, [&](int bit) { return own.at(bit); });
  }

  /// collect() with the calling thread's maximum. If few lanes of the warp have something, the warp looks at
  /// the elements of one lane after the other, each lane at one element. All lanes must call it.
  template <int kRoom>
  __device__ __forceinline__ bool collect_some(float largest, float floor,
                                               Buffer<kRoom, kThreads>& buffer) const {
    bool room = collect_edge(tile, floor, 0, buffer);
    unsigned lanes = __ballot_sync(kAllLanes, largest >= floor);
    if (__popc(lanes) > kFewLanes) {
      if (largest >= floor) room &= collect_own(floor, 0, buffer);
      return room;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __syncwarp();  // what other lanes have stored into the stage can be read; later GPUs copy in bulk
#endif
    const unsigned lane = threadIdx.x % 32, j = lane % kPerAccess<T>;
    for (; lanes; lanes &= lanes - 1) {
      const unsigned of = threadIdx.x - lane + static_cast<unsigned>(__ffs(static_cast<int>(lanes))) - 1;
      const unsigned access = of + lane / kPerAccess<T> * kThreads;
      const bool there = lane < kTileCount * kPerAccess<T> && access < tile.size();
      const float x = there ? to_float(reinterpret_cast<const T*>(stage + access)[j]) : quiet_nan();
      room &= buffer.push_lanes(x >= floor, candidate(x, tile.column(access) + j));
    }
    return room;
  }

  /// Access i of a warp's lanes is a run of columns, and run i x kWarps + warp follows the run before it. So
  /// how many equal ones the runs before have decides whether a lane's are among the first k.
  template <int kRoom>
  __device__ __forceinline__ bool collect_first(float floor, int k, Buffer<kRoom, kThreads>& buffer) const {
    constexpr int kWarps = kThreads / 32, kRuns = kTileCount * kWarps;
    static_assert(kRuns + kWarps <= 2 * kThreads);
    constexpr unsigned kOfAccess = (1u << kPerAccess<T>)-1;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    unsigned* const runs = buffer.bound.ranks;
    collect_edge(tile, floor, 0, buffer);
    const OwnOfTile<T, kThreads> own{tile, stage};
    const unsigned above = own.reaching(next_above(floor)), equal = own.reaching(floor) & ~above;
    const auto equal_of = [=](int i) { return __popc(equal >> i * kPerAccess<T> & kOfAccess); };
    for (int i = 0; i < kTileCount; ++i) {
      const unsigned sum = __reduce_add_sync(kAllLanes, static_cast<unsigned>(equal_of(i)));
      if (lane == 0) runs[i * kWarps + warp] = sum;
    }
    const unsigned more = __reduce_add_sync(kAllLanes, static_cast<unsigned>(__popc(above)));
    if (lane == 0) runs[kRuns + warp] = more;
    __syncthreads();  // all counts are there, and the edges
    unsigned needed = static_cast<unsigned>(buffer.size() + k + kPerAccess<T>);
    for (int w = 0; w < kWarps; ++w) needed += runs[kRuns + w];
    if (!__syncthreads_and(needed <= kRoom)) return false;
    unsigned mask = above;
    int before = 0, run = 0;  // equal ones in the runs before run number `run`
    for (int i = 0; i < kTileCount; ++i) {
      for (; run < i * kWarps + warp; ++run) before += static_cast<int>(runs[run]);
      if (before >= k) break;  // the same of all lanes
      int up_to = equal_of(i);
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(kAllLanes, up_to, static_cast<unsigned>(step));
        if (lane >= step) up_to += other;
      }
      if (before + up_to - equal_of(i) < k) mask |= equal & kOfAccess << i * kPerAccess<T>;
    }
    return buffer.push_each(mask, [&](int bit) { return own.at(bit); });
  }
  __device__ __forceinline__ bool earlier(Candidate c) const {
    return tile.first() ? false : column_of(c) < tile.column(0);
  }
  __device__ __forceinline__ bool bounded() const { return tile.bounded(); }
};

/// A source some of which found no room is collected again. `reached`: k elements up to here reach `floor`. A
/// higher floor comes first from the maxima, unless it does already. Then of many that are equal to the floor
/// the first k are enough, if k elements reach it; if not, some of the k best may lie just below it, among
/// the candidates. If there is still no room, the floor rises to the k-th of the candidates that found room,
/// by value and column: each turn leaves out at least kRoom - k more. All threads must call it. Returns the
/// floor for later sources.
template <class T, class Source, int kRoom, int kThreads>
ASSAY_RARE float collect_again(const Source source, float2 maxima, float floor, [[maybe_unused]] bool reached,
                               int k, Buffer<kRoom, kThreads>& buffer) {
  if (!source.bounded()) {
    buffer.filter([&](Candidate c) { return source.earlier(c); });
    const float bound = groups_bound<T>(maxima, k, buffer.bound);
    floor = higher(floor, bound);
    reached = bound == floor;
    if (!__syncthreads_or(!source.collect(floor, 0, buffer))) return floor_after(floor, bound);
  }
  if constexpr (Source::kInOrder) {
    if (reached) {
      const auto earlier = [&](Candidate c) {
        return source.earlier(c) && ranked_logit(rank_of(c)) >= floor;
      };
      buffer.filter(earlier);
      if (__syncthreads_and(source.collect_first(floor, k, buffer))) return next_above(floor);
      buffer.filter(earlier);
      source.collect(floor, 0, buffer);  // it finds no room again
      __syncthreads();                   // the buffer is full
    }
  }
  for (;;) {
    buffer.sort();
    const Candidate least = buffer.at[k - 1];
    __syncthreads();  // all threads have read it
    buffer.filter([&](Candidate c) { return c >= least && source.earlier(c); });
    floor = ranked_logit(rank_of(least));
    if (!__syncthreads_or(!source.collect(floor, least, buffer))) return next_above(floor);
  }
}

}  // namespace assay::ASSAY_BACKEND::onepass
