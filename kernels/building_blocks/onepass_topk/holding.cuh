// SPDX-License-Identifier: Apache-2.0
// Few rows: the blocks of a cluster hold a row in registers, each a slice. Their groups of lanes send each
// other their maxima. So all blocks know one bound of the whole row, which few elements reach: of logits in
// random order about k + k^2 / 256. While the maxima are on their way, the exps are added. The elements that
// reach the bound go to the first block, with (m, d) of each block, and it puts them in order.
//
// Where a slice has many of the largest logits, as in a vocabulary that is sorted by frequency, more of its
// elements reach the bound than there is room for. Such a block finds a bound of its own, and reads its
// slice again. If that is not enough either, because many logits are equal, it selects tile by tile. It sends
// its k best.
#pragma once

#include "kernels/building_blocks/onepass/team.cuh"
#include "kernels/building_blocks/onepass_topk/rows.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Threads of a block, and most accesses that one of them holds. Two launches fit on the GPU at a time if the
/// blocks are small, and overlap then. The host executor has clusters of at most 1024 threads.
inline constexpr int kHoldingThreads = kBackend == Backend::cuda ? kSelectThreads : kFewThreads,
                     kMostHoldingThreads = kBackend == Backend::cuda ? kSharingThreads : kFewThreads;
inline constexpr int kMostHolding = 8;
/// Least and most groups of a row; its k is at most kFew. Most candidates that a block sends.
inline constexpr int kLeastGroups = 128, kMostGroups = 256, kHoldingSends = kFew;
static_assert(kFew <= kLeastGroups && kMostBlocks * kSharingThreads / 32 <= kMostGroups);

template <class T, int kOfBlock>
struct HoldingShared {
  static constexpr int kThreads = kOfBlock, kWarps = kThreads / 32, kHits = 512;
  alignas(16) unsigned ranks[kMostGroups];  // of the groups' maxima
  Barrier ranks_there, parts_there, candidates_there;
  unsigned least[kWarps];  // bounds as each warp knows them
  Normalizer warps[kWarps];
  Buffer<kSmallRoom, kThreads> buffer;
  Access<T>* hits;  // kHits of them, or a tile of select_again
  unsigned numbers[kHits];
  int count;  // of the hits
  Candidate best[kFew];
  // What arrives at the first block.
  Normalizer parts[kMostBlocks];
  std::uint64_t counts[kMostBlocks];
  Candidate incoming[kMostBlocks * kHoldingSends];
};
/// Dynamic shared memory: a tile of select_again, or all that has arrived.
template <int kThreads>
inline constexpr std::size_t kHoldingBytes = std::size_t{kTileAccesses<kThreads>} * 16;
static_assert(kHoldingBytes<kFewThreads> >= sizeof(Candidate) * kMostBlocks * kHoldingSends);
static_assert(kHoldingBytes<kFewThreads> >= sizeof(Access<float>) * HoldingShared<float, kFewThreads>::kHits);

/// Groups of a warp: so many that a row has kLeastGroups at least. It never has more than kMostGroups.
__host__ __device__ constexpr int groups_of_warp(int blocks, int threads) {
  const int warps = blocks * threads / 32;
  return warps >= kLeastGroups ? 1 : kLeastGroups / warps;
}

/// The k-th largest of `count` ranks that lie in `shared`. `count` is a power of two, and no larger
/// than the number of threads, which share the comparisons. All threads must call it.
template <class T, int kThreads>
__device__ __forceinline__ unsigned kth_of_groups(int count, int k, HoldingShared<T, kThreads>& shared) {
  const int thread = static_cast<int>(threadIdx.x), share = kThreads / count;
  const unsigned own = shared.ranks[thread / share];
  int as_large = count / share;
#pragma unroll 4
  for (int i = thread % share; i < count / 4; i += share)
    uncount_below(as_large, reinterpret_cast<const uint4*>(shared.ranks)[i], own);
  for (int step = 1; step < share; step *= 2) as_large += __shfl_xor_sync(kAllLanes, as_large, step);
  unsigned least = __reduce_max_sync(kAllLanes, as_large >= k ? own : 0u);
  if (thread % 32 == 0) shared.least[thread / 32] = least;
  __syncthreads();  // every warp's is there
  for (const unsigned of_warp : shared.least) least = max(least, of_warp);
  return least;
}

/// For select_again, whose sum is not wanted.
struct NoSum {
  __device__ __forceinline__ static float of(float) { return 0.0f; }
};

/// Leaves the k best of at[0 .. n - 1] in shared.best. Changes `at`. All threads must call it after a
/// barrier; the best are there after the next one. A call, so that it takes no registers of what is usual.
template <class T, int kThreads>
ASSAY_RARE void k_best(Candidate* at, int n, int k, HoldingShared<T, kThreads>& shared) {
  order_by_buckets<kMostBlocks * kHoldingSends>(at, n, k, shared.buffer.bound.ranks, shared.buffer.order,
                                                [&](int slot, Candidate c) { shared.best[slot] = c; });
}

/// The candidates of a block: what reaches `floor` of its slice and of the row's edge. `own`: the calling
/// thread's maximum, its edge included; `edge`: column of its edge element, or -1. False if there was no
/// room. All threads must call it when shared.count and shared.buffer.count are 0.
template <class T, int kCount, int kThreads>
__device__ __forceinline__ bool collect_slice(const Held<T, kCount>& held, const Slice<T, int>& slice,
                                              unsigned head, std::int64_t edge, float edge_x, float own,
                                              float floor, HoldingShared<T, kThreads>& shared) {
  bool room = keep_hits(held, own, floor, static_cast<unsigned>(slice.first),
                        static_cast<unsigned>(slice.count), false, shared);
  if (edge >= 0 && edge_x >= floor)
    room &= shared.buffer.push(candidate(edge_x, static_cast<unsigned>(edge)));
  if (__syncthreads_or(!room)) return false;
  return !__syncthreads_or(!candidates_of_hits<T>(head, floor, shared));
}

/// The same after there was no room: with a bound of the slice itself, and if that is not enough, tile by
/// tile. Leaves the slice's k best, or more. Returns the column from which theirs are counted.
template <int kCount, class T, int kThreads>
ASSAY_RARE unsigned select_slice(const T* x, std::int64_t V, const Parts<T> parts, const Slice<T, int> slice,
                                 std::int64_t edge, float own, float bound, int k, bool first, bool last,
                                 HoldingShared<T, kThreads>& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) shared.buffer.count = shared.count = 0;  // seen after a barrier of groups_bound
  const float floor = higher(bound, groups_bound<T>({own, negative_infinity()}, k, shared.buffer.bound));
  Held<T, kCount> held;
  held.load(slice.from, slice.count, thread, kThreads);
  const float edge_x = edge >= 0 ? to_float(x[edge]) : negative_infinity();
  if (collect_slice(held, slice, static_cast<unsigned>(parts.head), edge, edge_x, own, floor, shared))
    return 0;
  const std::int64_t begin = first ? 0 : parts.head + std::int64_t{slice.first} * kPerAccess<T>,
                     end = last ? V : parts.head + std::int64_t{slice.first + slice.count} * kPerAccess<T>;
  select_again<NoSum>(x + begin, static_cast<unsigned>(end - begin), ~0u, identity(), floor, k, shared);
  __syncthreads();  // the candidates are there
  return static_cast<unsigned>(begin);
}

/// A cluster of `blocks` blocks a row, a power of two. A slice has at most kCount accesses for each thread.
/// `first`: number of the first row. Compute capability 9.0.
template <class Form, class T, int kCount, int kThreads>
__global__ void __launch_bounds__(kThreads, kTopkBlocks<kThreads>)
    topk_holding(Rows<const T> logits, std::int64_t V, int blocks, Selected<T> to, float* m, float* d,
                 std::int64_t first) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  __trap();  // never launched: largest_cluster refuses code for older GPUs
#else
  using E = typename Form::Exp;
  using Shared = HoldingShared<T, kThreads>;
  constexpr int kWarps = Shared::kWarps;
  ASSAY_SHARED(Shared, of_block, 1);
  ASSAY_DYNAMIC_SHARED(Access<T>, room);
  Shared& shared = of_block[0];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32, k = to.k;
  const int rank = static_cast<int>(blockIdx.x) % blocks, groups = groups_of_warp(blocks, kThreads);
  const int all_groups = blocks * kWarps * groups;
  const std::int64_t row = blockIdx.x / static_cast<unsigned>(blocks);
  const bool wanted = to.values.base != nullptr;
  if (thread == 0) {
    shared.ranks_there.start();
    shared.ranks_there.expect(all_groups * static_cast<int>(sizeof(unsigned)));
    shared.parts_there.start();
    shared.candidates_there.start();
    if (rank == 0)
      shared.parts_there.expect(blocks * static_cast<int>(sizeof(Normalizer) + sizeof(std::uint64_t)));
    shared.buffer.count = shared.count = 0;
    shared.hits = room;
  }
  cluster_arrive();
  const T* const x = logits.row(row);
  const Parts<T> parts(x, V);
  const Slice<T, int> slice(x, parts, rank, blocks);
  // The first block has the elements before the body, the last one those after it.
  std::int64_t edge = -1;
  if (rank == 0 && thread < parts.head) edge = thread;
  if (rank == blocks - 1 && thread < parts.tail) edge = V - parts.tail + thread;

  wait_for_previous();
  Held<T, kCount> held;
  held.load(slice.from, slice.count, thread, kThreads);
  let_next_start();
  const float edge_x = edge >= 0 ? to_float(x[edge]) : negative_infinity();
  const float own = fmaxf(held.largest(), edge_x);
  const float of_group = largest_of_lanes(own, groups);
  const unsigned sent = __shfl_sync(kAllLanes, unsigned_rank(of_group), lane / blocks);
  cluster_wait();  // every barrier has been started
  if (lane / blocks < groups)
    send_word(peer_address(shared_address(shared.ranks + (rank * kWarps + warp) * groups + lane / blocks),
                           lane % blocks),
              sent, peer_address(shared.ranks_there.address(), lane % blocks));

  const float shift = reference(own);
  held.forget();
  Normalizer n{own, held.template sum<E>(shift)};
  if (edge >= 0) n.d += E::of(edge_x - shift);
  n = merge_lanes<E>(folded(n));
  if (lane == 0) shared.warps[warp] = n;
  held.forget();

  shared.ranks_there.wait(0);
  const unsigned least = kth_of_groups(all_groups, k, shared);
  const float bound = least <= unsigned_rank(negative_infinity()) ? negative_infinity() : ranked_logit(least);
  const float floor = wanted ? bound : quiet_nan();
  unsigned begin = 0;  // column from which the candidates' columns are counted
  if (!collect_slice(held, slice, static_cast<unsigned>(parts.head), edge, edge_x, own, floor, shared))
    begin =
        select_slice<kCount>(x, V, parts, slice, edge, own, bound, k, rank == 0, rank == blocks - 1, shared);

  n = merge_lanes<E>(folded(shared.warps[lane % kWarps]), kWarps);
  const int count = shared.buffer.size(), some = count <= kHoldingSends ? count : k;
  if (thread == 0) {
    std::uint64_t bits;
    memcpy(&bits, &n, sizeof bits);
    const SharedAddress barrier = peer_address(shared.parts_there.address(), 0);
    send(peer_address(shared_address(shared.parts + rank), 0), bits, barrier);
    send(peer_address(shared_address(shared.counts + rank), 0), static_cast<std::uint64_t>(some), barrier);
  }
  const auto leave = [&](int slot, Candidate c) {
    send(peer_address(shared_address(shared.incoming + rank * kHoldingSends + slot), 0), c - begin,
         peer_address(shared.candidates_there.address(), 0));
  };
  const Candidate* from = shared.buffer.at;
  if (some != count) {
    k_best(shared.buffer.at, count, k, shared);
    __syncthreads();  // the best are there
    from = shared.best;
  }
  for (int slot = thread; slot < some; slot += kThreads) leave(slot, from[slot]);
  if (rank != 0) return;  // nobody sends this block anything

  shared.parts_there.wait(0);
  int before = lane < blocks ? static_cast<int>(shared.counts[lane]) : 0;
  const int of_lane = before;
#pragma unroll
  for (int step = 1; step < kMostBlocks; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, before, static_cast<unsigned>(step));
    if (lane >= step) before += other;
  }
  const int total = __shfl_sync(kAllLanes, before, blocks - 1);
  before -= of_lane;
  if (thread == 0) shared.candidates_there.expect(total * static_cast<int>(sizeof(Candidate)));
  shared.candidates_there.wait(0);
  auto* const all = reinterpret_cast<Candidate*>(room);
  for (int block = warp; block < blocks; block += kWarps) {
    const int at = __shfl_sync(kAllLanes, before, block), here = __shfl_sync(kAllLanes, of_lane, block);
    for (int i = lane; i < here; i += 32) all[at + i] = shared.incoming[block * kHoldingSends + i];
  }
  n = merge_lanes<E>(folded(shared.parts[lane % blocks]), blocks);
  if (m && thread == 0) store_normalizer(m, d, first + row, n);
  if (!wanted) return;
  __syncthreads();  // all candidates are there, and nobody reads the buffer
  const Form form(n);
  const auto use = [&](int slot, Candidate c) {
    put(to, first + row, slot, ranked_logit(rank_of(c)), column_of(c), form);
  };
  if (total <= kComparedWithAll) {
    order_few<kThreads>(all, total, k, use);
  } else if (total <= 2 * kComparedWithAll) {
    order_few<kThreads, 2 * kComparedWithAll>(all, total, k, use);
  } else {
    k_best(all, total, k, shared);
    __syncthreads();  // the best are there
    if (thread < k) use(thread, shared.best[thread]);
  }
  if (total < k && thread == 0) put_rest(total, to, x, first + row, V, form);
#endif
}

}  // namespace assay::ASSAY_BACKEND::onepass
