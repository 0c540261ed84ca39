// SPDX-License-Identifier: Apache-2.0
// Few long rows: the blocks of a cluster share a row. Each selects from its part; then all send (m, d) and
// candidates into the shared memory of the first, which merges them. So a row takes one launch, and nothing
// passes through global memory.
#pragma once

#include "kernels/building_blocks/onepass/team.cuh"
#include "kernels/building_blocks/onepass_topk/stream.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// The second stage of few rows: one block merges what the parts of a row have left.

/// The candidates of all parts of a row.
struct PartsSource {
  static constexpr bool kInOrder = false;
  const Candidate* candidates;
  int places;

  /// Calls f with each candidate of the calling thread.
  template <class F>
  __device__ __forceinline__ void each(F f) const {
    for (int i = static_cast<int>(threadIdx.x); i < places; i += kSelectThreads)
      if (const Candidate c = candidates[i]) f(c);
  }
  template <int kRoom>
  __device__ __forceinline__ bool collect(float floor, Candidate least,
                                          Buffer<kRoom, kSelectThreads>& buffer) const {
    bool found = true;
    each([&](Candidate c) {
      if (c >= least && ranked_logit(rank_of(c)) >= floor) found &= buffer.push(c);
    });
    return found;
  }
  __device__ __forceinline__ bool earlier(Candidate) const { return false; }
  __device__ __forceinline__ bool bounded() const { return true; }
};

template <class Form, class T, int kRoom>
__global__ void __launch_bounds__(kSelectThreads)
    topk_merge(Pieces<T> pieces, Selected<T> to, float* m, float* d, Workplace workplace) {
  using E = typename Form::Exp;
  ASSAY_SHARED(Alone::Shared, team_shared, 1);
  using Buffer = onepass::Buffer<kRoom, kSelectThreads>;
  ASSAY_SHARED(Buffer, buffers, 1);
  Buffer& buffer = buffers[0];
  const Alone team({}, team_shared[0]);
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < pieces.logits.count; row += gridDim.x) {
    if (thread == 0) buffer.count = 0;
    __syncthreads();  // the buffer is empty; what the row before left has been read
    const Normalizer* const parts = workplace.normalizers + row * pieces.parts;
    const PartsSource source{workplace.candidates + row * pieces.parts * workplace.room,
                             pieces.parts * workplace.room};
    const Normalizer n = team.template merge<E>(thread < pieces.parts ? folded(parts[thread]) : identity());
    if (m && thread == 0) store_normalizer(m, d, row, n);
    if (!to.values.base) continue;
    float2 maxima = {negative_infinity(), negative_infinity()};
    source.each([&](Candidate c) {
      const float x = ranked_logit(rank_of(c));
      maxima = {fmaxf(maxima.x, x), fmaxf(maxima.x < x ? maxima.x : x, maxima.y)};
    });
    const float floor = groups_bound<T>(maxima, to.k, buffer.bound);
    if (__syncthreads_or(!source.collect(floor, 0, buffer)))
      collect_again<T>(source, maxima, floor, true, to.k, buffer);
    put_best<Form>(buffer, to, pieces.logits.row(row), row, pieces.V, n);
    __syncthreads();  // the candidates have been read
  }
}

/// Candidates that a block sends, 0 where it has fewer. Where it has more, it sends its k best.
template <int kRoom>
inline constexpr int kSent = kRoom == kSmallRoom ? 2 * kFew : kStreamK;
/// Threads of a block. The host executor has clusters of at most 1024 threads.
template <int kRoom>
inline constexpr int kThreadsSharing =
    kBackend != Backend::cuda&& kRoom == kSmallRoom ? kFewThreads : kSharingThreads;
/// Dynamic shared memory: the ring, and what arrives.
template <int kRoom, int kThreads>
inline constexpr std::size_t kSharingBytes = kRingBytes<kThreads> +
                                             sizeof(Candidate) * kSent<kRoom>* kMostBlocks;

struct SharingShared {
  Barrier arrived;
  Normalizer parts[kMostBlocks];
};

/// A cluster of pieces.parts blocks a row, a power of two, each with one piece. `first`: number of the first
/// row. Compute capability 9.0.
template <class Form, class T, int kRoom, int kThreads>
__global__ void __launch_bounds__(kThreads, kTopkBlocks<kThreads>)
    topk_sharing(Pieces<T> pieces, Selected<T> to, float* m, float* d, std::int64_t first) {
  using E = typename Form::Exp;
  constexpr int kSends = kSent<kRoom>;
  using Buffer = onepass::Buffer<kRoom, kThreads>;
  using Ring = onepass::Ring<T, kThreads>;
  ASSAY_SHARED(PieceShared<kThreads>, shared, 1);
  ASSAY_SHARED(Buffer, buffers, 1);
  ASSAY_SHARED(typename Ring::Shared, ring_shared, 1);
  ASSAY_SHARED(SharingShared, meeting, 1);
  ASSAY_DYNAMIC_SHARED(Access<T>, stages);
  auto* const incoming = reinterpret_cast<Candidate*>(stages + kStages * kTileAccesses<kThreads>);
  Buffer& buffer = buffers[0];
  SharingShared& at_first = meeting[0];
  const int thread = static_cast<int>(threadIdx.x), k = to.k, blocks = pieces.parts;
  const int rank = static_cast<int>(blockIdx.x) % blocks;
  const bool wanted = to.values.base != nullptr;
  Ring ring(stages, ring_shared[0]);
  wait_for_previous();
  if (thread == 0) {
    ring.start(pieces);
    at_first.arrived.start();
    const std::size_t bytes = sizeof(Normalizer) + (wanted ? sizeof(Candidate) * kSends : 0);
    if (rank == 0) at_first.arrived.expect(blocks * static_cast<int>(bytes));
  }
  let_next_start();
  cluster_arrive();
  select_piece<E>(pieces, blockIdx.x, k, wanted, ring, buffer, shared[0]);
  Normalizer n = shared[0].template merged<E>();
  cluster_wait();  // the first block's barrier has been started
  // Taken only by a thread that sends: when all has come that is expected, the first block may end.
  const auto barrier = [&] { return peer_address(at_first.arrived.address(), 0); };
  if (thread == 0) {
    std::uint64_t bits;
    memcpy(&bits, &n, sizeof bits);
    send(peer_address(shared_address(at_first.parts + rank), 0), bits, barrier());
  }
  if (wanted) {
    const auto leave = [&](int slot, Candidate c) {
      send(peer_address(shared_address(incoming + rank * kSends + slot), 0), c, barrier());
    };
    const int count = buffer.size(), some = count <= kSends ? count : k;
    if (some == count)
      for (int slot = thread; slot < count; slot += kThreads) leave(slot, buffer.at[slot]);
    else
      in_order(buffer, k, leave);
    for (int slot = some + thread; slot < kSends; slot += kThreads) leave(slot, 0);
  }
  if (rank != 0) return;  // nobody sends this block anything
  at_first.arrived.wait(0);
  n = merge_lanes<E>(folded(at_first.parts[thread % blocks]), blocks);
  const std::int64_t row = blockIdx.x / static_cast<unsigned>(blocks);
  if (m && thread == 0) store_normalizer(m, d, first + row, n);
  if (!wanted) return;
  __syncthreads();  // the buffer's counts have been read
  const Form form(n);
  const int total = order_by_buckets<kSends * kMostBlocks>(
      incoming, blocks * kSends, k, buffer.bound.ranks, buffer.order, [&](int slot, Candidate c) {
        put(to, first + row, slot, ranked_logit(rank_of(c)), column_of(c), form);
      });
  if (total < k && thread == 0) put_rest(total, to, pieces.logits.row(row), first + row, pieces.V, form);
}

}  // namespace assay::ASSAY_BACKEND::onepass
