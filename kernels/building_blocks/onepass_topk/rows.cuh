// SPDX-License-Identifier: Apache-2.0
// Softmax and top-k in one read, of many rows: a block takes a row, and reads it tile by tile into registers.
// Several small blocks on a multiprocessor keep its loads coming while one of them selects. A tile is large,
// so that a usual row has few of them, and the block meets only after tiles 0, 1, 3, 7, 15 ... and the last
// one. An access that has a candidate is a hit. The hits of all tiles are kept, and at the end the block
// looks at their elements. If there is no room for them, the row is read again from its start (select_again).
//
// No function is called from the loop over the tiles: what is alive across a call takes registers, and the
// loop needs all of them. On an H100 a call there made softmax + top-k 5 to 15 % slower.
#pragma once

#include "kernels/building_blocks/onepass_topk/shared_bound.cuh"
#include "kernels/building_blocks/onepass_topk/stream.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Accesses of a thread in a tile: those of two tiles of the ring.
inline constexpr int kRowCount = 2 * kTileCount;
/// For k up to kMost, kFew or kStreamK: threads of a block, and room for hits and for candidates. More
/// threads, or smaller tiles, are slower. Many candidates need more room than eight blocks of a
/// multiprocessor have.
template <int kMost>
struct RowSizes {
  static constexpr int kThreads = kMost <= kFew ? kFewThreads : kSelectThreads;
  static constexpr int kHits = kMost <= kFew ? 512 : 1536;
  static constexpr int kRoom = kMost <= kFew ? kSmallRoom : kLargeRoom / 2;
  static constexpr unsigned kTile = kThreads * kRowCount;
  static_assert(kHits >= kThreads * kTileCount);  // select_again puts a tile of the ring there
};
/// More lanes of a warp than this have hits only where many logits are equal, for k up to kLeastK.
inline constexpr int kManyLanes = 20;

/// What a block needs of its row.
template <class T>
struct OneRow {
  const T* x;
  unsigned columns, head, accesses;

  __device__ __forceinline__ OneRow(const T* row, std::int64_t V)
      : x(row), columns(static_cast<unsigned>(V)) {
    const Parts<T> parts(x, V);
    head = static_cast<unsigned>(parts.head);
    accesses = static_cast<unsigned>(parts.accesses);
  }
  __device__ __forceinline__ const Access<T>* body() const {
    return reinterpret_cast<const Access<T>*>(x + head);
  }
  /// Column of the calling thread's edge element in a tile, or `columns`.
  __device__ __forceinline__ unsigned edge(bool first, bool last) const {
    const unsigned thread = threadIdx.x;
    if (thread < head) return first ? thread : columns;
    // Not by the sum: it may pass 2^32.
    return last && thread < columns - accesses * kPerAccess<T> ? accesses * kPerAccess<T> + thread : columns;
  }
};

/// What the threads of a block know of its row.
template <class T, int kMost>
struct RowShared : RowSizes<kMost> {
  using Sizes = RowSizes<kMost>;
  Access<T> hits[Sizes::kHits];
  unsigned numbers[Sizes::kHits];  // of the hits, in the row's body
  int count;                       // of the hits; may pass the room
  std::conditional_t<(kMost > kFew), ManyBound<Sizes::kThreads>, FewBound<Sizes::kThreads>> bound;
  Buffer<Sizes::kRoom, Sizes::kThreads> buffer;
  Normalizer warps[Sizes::kThreads / 32];
};

/// A tile of the ring's size in shared memory, whose maxima have given a bound.
template <class T, int kThreads>
struct AgainSource : TileSource<T, kThreads> {
  __device__ __forceinline__ bool bounded() const { return true; }
};

/// Selects from a row again, from its start, by the ring's tiles, after something found no room. `from`:
/// number of the access up to which `n` of the calling thread has its elements already; `floor`: one that
/// holds for the whole row. Returns `n` of all its elements. All threads must call it after a barrier, and
/// the candidates are there after the next one.
template <class E, class T, class Shared>
ASSAY_RARE Normalizer select_again(const T* x, unsigned columns, unsigned from, Normalizer n, float floor,
                                   int k, Shared& shared) {
  constexpr int kThreads = Shared::kThreads;
  const int thread = static_cast<int>(threadIdx.x);
  auto& buffer = shared.buffer;
  if (thread == 0) shared.count = buffer.count = 0;
  __syncthreads();  // both are empty
  float2 maxima = {negative_infinity(), negative_infinity()};
  for (Tile<T, kThreads> tile(Pieces<T>{{x, 1, 0}, columns, 1}, 0);; tile.at += tile.kAccesses) {
    Held<T, kTileCount> held;
    held.load(tile.from(), static_cast<int>(tile.size()), thread, kThreads);
    const float2 two = two_largest(held);
    const float largest = fmaxf(two.x, two.y);
    maxima = {fmaxf(maxima.x, two.x), fmaxf(maxima.y, two.y)};
    const unsigned edge = tile.outer() ? tile.edge() : columns;
    const float edge_x = edge < columns ? to_float(x[edge]) : quiet_nan();
    if (tile.at >= from) {
      const float own = fmaxf(largest, edge_x);
      Normalizer more{own, held.template sum<E>(reference(own))};
      if (edge < columns) more.d += E::of(edge_x - reference(own));
      n = combine<E>(n, folded(more));
    }
    if (__syncthreads_or(largest >= floor || edge_x >= floor)) {
      const float bound = groups_bound<T>(maxima, k, buffer.bound);
      floor = higher(floor, bound);
      held.store_shared(shared.hits, static_cast<int>(tile.size()), thread, kThreads);
      const AgainSource<T, kThreads> source{{tile, shared.hits}};
      const bool reached = bound == floor && bound != negative_infinity();
      if (reached && __syncthreads_and(source.collect_first(floor, k, buffer))) {
        floor = next_above(floor);
      } else {
        if (reached) buffer.filter([&](Candidate c) { return source.earlier(c); });
        bool room = collect_edge(tile, floor, 0, buffer);
        if (largest >= floor) room &= source.collect_own(floor, 0, buffer);
        floor = __syncthreads_or(!room) ? collect_again<T>(source, maxima, floor, reached, k, buffer)
                                        : floor_after(floor, bound);
      }
    }
    if (tile.last()) return n;
  }
}

/// Keeps the hits of a tile, whose first access has number `first`. `size`: its accesses; `largest`: the
/// calling thread's maximum; `few`: k is at most kLeastK. False if something found no room, or would find
/// none. All lanes must call it.
template <class T, int kCount, class Shared>
__device__ __forceinline__ bool keep_hits(const Held<T, kCount>& held, float largest, float floor,
                                          unsigned first, unsigned size, bool few, Shared& shared) {
  constexpr int kThreads = Shared::kThreads;
  const unsigned lanes = __ballot_sync(kAllLanes, largest >= floor), thread = threadIdx.x;
  if (few && __popc(lanes) > kManyLanes && floor != negative_infinity()) return false;
  if (!(largest >= floor)) return true;
  unsigned mask = Reach<T>(floor).any_of_each(held.part);
  if (floor == negative_infinity()) {  // so does what is past the tile
#pragma unroll 1
    for (int i = 0; i < kCount; ++i)
      if (thread + static_cast<unsigned>(i) * kThreads >= size) mask &= ~(1u << i);
  }
  int slot = atomicAdd(&shared.count, __popc(mask));
  if (slot + __popc(mask) > shared.kHits) return false;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (mask >> i & 1) {
      shared.hits[slot] = held.part[i];
      shared.numbers[slot++] = first + thread + static_cast<unsigned>(i) * kThreads;
    }
  return true;
}

/// Appends the elements of the hits that reach `least` to the buffer. `head`: column of the row's body. All
/// threads must call it after a barrier, and meet at one afterwards. False if something found no room.
template <class T, class Shared>
__device__ __forceinline__ bool candidates_of_hits(unsigned head, float least, Shared& shared) {
  constexpr int N = kPerAccess<T>, kThreads = Shared::kThreads;
  const Reach<T> reach(least);
  const int hits = shared.count;
  bool room = true;
  for (int i = static_cast<int>(threadIdx.x); i < hits; i += kThreads) {
    const auto* const elements = reinterpret_cast<const T*>(shared.hits + i);
    const unsigned first = head + shared.numbers[i] * N;
    room &= shared.buffer.push_each(reach.each(shared.hits[i]), [&](int j) {
      return candidate(to_float(elements[j]), first + static_cast<unsigned>(j));
    });
  }
  return room;
}

template <class E, class T, int kMost>
__device__ __forceinline__ void leave_normalizer(Normalizer n, RowShared<T, kMost>& shared) {
  n = merge_lanes<E>(n);
  if (threadIdx.x % 32 == 0) shared.warps[threadIdx.x / 32] = n;
}

/// Leaves the hits of a row in `shared`, or candidates, the k best elements among them, and (m, d) of each
/// warp; all are there at the end. All threads must call it. `wanted`: k is at least 1.
template <class E, class T, int kMost>
__device__ __forceinline__ void select_row(const OneRow<T>& row, int k, bool wanted,
                                           RowShared<T, kMost>& shared) {
  constexpr int kThreads = RowSizes<kMost>::kThreads;
  constexpr unsigned kTile = RowSizes<kMost>::kTile;
  const int thread = static_cast<int>(threadIdx.x);
  Normalizer n = identity();
  float2 maxima = {negative_infinity(), negative_infinity()};  // of the thread, without edges and NaN
  float floor = wanted ? negative_infinity() : quiet_nan();
  bool room = true;
  unsigned end;
  for (unsigned at = 0;; at += kTile) {
    const bool last = row.accesses - at <= kTile;
    const unsigned size = last ? row.accesses - at : kTile, turn = at / kTile;
    const bool bounded = wanted && (turn & (turn + 1)) == 0;
    Held<T, kRowCount> held;
    if (size == kTile)
      held.load(row.body() + at, static_cast<int>(kTile), thread, kThreads);
    else
      held.load(row.body() + at, static_cast<int>(size), thread, kThreads);
    float largest;
    if constexpr (kMost > kFew) {
      const float2 two = two_largest(held);
      largest = fmaxf(two.x, two.y);
      maxima = {fmaxf(maxima.x, two.x), fmaxf(maxima.y, two.y)};
    } else {
      largest = held.largest();
      maxima.x = fmaxf(maxima.x, largest);
    }
    if (bounded) {
      shared.bound.template begin<T>(maxima, k);
      __syncthreads();  // all ranks are there
      shared.bound.template find<T>(k);
    }
    float own = largest, edge_x = quiet_nan();
    const unsigned edge = row.edge(at == 0, last);
    if (edge < row.columns) {
      edge_x = to_float(row.x[edge]);
      own = fmaxf(own, edge_x);
    }
    const float shift = reference(own);
    held.forget();
    Normalizer more{own, held.template sum<E>(shift)};
    if (edge < row.columns) more.d += E::of(edge_x - shift);
    n = combine<E>(n, folded(more));

    float bound = negative_infinity();
    if (bounded) {
      __syncthreads();  // the bound, or the counts that give it, are there
      bound = shared.bound.template settle<T>(k);
      floor = higher(floor, bound);
    }
    held.forget();
    room &= keep_hits(held, largest, floor, at, size, k <= kLeastK, shared);
    if (edge_x >= floor) room &= shared.buffer.push(candidate(edge_x, edge));
    if (!bounded && !last) continue;
    if (last) leave_normalizer<E>(n, shared);
    if (__syncthreads_or(!room)) {
      end = at + size;
      break;
    }
    if (last) return;
    floor = floor_after(floor, bound);
    if constexpr (kMost > kFew) {  // of few there is room for all: few_hits()
      if (__syncthreads_or(shared.count > shared.kHits / 2)) {
        if (__syncthreads_or(shared.buffer.count > shared.kRoom / 2))  // before anything more is pushed
          shared.buffer.filter([&](Candidate c) { return ranked_logit(rank_of(c)) >= bound; });
        room = candidates_of_hits<T>(row.head, bound, shared);
        __syncthreads();  // the hits have been read
        if (thread == 0) shared.count = 0;
        __syncthreads();  // there is room again
      }
    }
  }
  // Outside of the loop, so that the call takes no registers of it. `floor` may have left out elements equal
  // to the bound because hits had them; those are gone.
  const float least = shared.bound.template bound<T>();
  leave_normalizer<E>(select_again<E>(row.x, row.columns, end, n, least, k, shared), shared);
  __syncthreads();  // all are there
}

/// A block a row. `first`: number of the first row of the launch.
template <class Form, class T, int kMost>
__global__ void __launch_bounds__(RowSizes<kMost>::kThreads, kTopkBlocks<RowSizes<kMost>::kThreads>)
    topk_rows(Rows<const T> logits, std::int64_t V, Selected<T> to, float* m, float* d, std::int64_t first) {
  using E = typename Form::Exp;
  using Shared = RowShared<T, kMost>;
  constexpr int kWarps = Shared::kThreads / 32;
  ASSAY_SHARED(Shared, of_block, 1);
  Shared& shared = of_block[0];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t number = blockIdx.x;
  const bool wanted = to.values.base != nullptr;
  const OneRow<T> row(logits.row(number), V);
  if (thread == 0) shared.count = shared.buffer.count = 0;
  __syncthreads();  // both are empty
  wait_for_previous();
  select_row<E>(row, to.k, wanted, shared);
  const Normalizer n = merge_lanes<E>(folded(shared.warps[thread % kWarps]), kWarps);
  if (m && thread == 0) store_normalizer(m, d, first + number, n);
  if (!wanted) return;
  const float least = shared.bound.template bound<T>();
  if (__syncthreads_or(!candidates_of_hits<T>(row.head, least, shared))) {
    select_again<E>(row.x, row.columns, row.accesses, n, least, to.k, shared);
    __syncthreads();  // the candidates are there
  }
  put_best<Form>(shared.buffer, to, row.x, first + number, V, n);
}

}  // namespace assay::ASSAY_BACKEND::onepass
