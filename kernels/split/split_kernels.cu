// SPDX-License-Identifier: Apache-2.0
// The kernels of split.cuh for every dtype, and the lines that register them.
#include "kernels/building_blocks/onepass/rungs.cuh"
#include "kernels/split/split.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// A slice held in the registers of a cluster until the other GPUs' values have arrived: one read and one
// write an element, whatever the L2 does. The kernel is that of the rung `cluster`; only its team also waits
// for the clusters of the same row on the other GPUs. One launch covers all rows. A cluster draws the number
// of its row when it begins, so the rows that are on a GPU are always the next ones, whatever the order in
// which the GPU starts its clusters. Therefore nobody waits for ever: the lowest row that is not finished is
// on every GPU, or a place on the GPU that lacks it becomes free, because all rows before it are finished.
// Drawing takes a microsecond before the first load. Without it (`drawn` is null) a cluster's number is its
// row, and the above holds only if a GPU starts the clusters of a launch in order. Every GPU seen does, and
// libraries rely on it, but no document promises it.

#if defined(__CUDACC__)
struct ClusterOfAll {
  static constexpr int kBlocks = kMostBlocks;
  struct Where {
    int blocks;
    Peers meeting;
    unsigned* drawn;  // rows drawn so far, or null
  };
  struct Shared {
    Cluster::Shared own;
    unsigned row;
  };
  Cluster own;
  int rank, blocks;
  std::int64_t row;
  Peers meeting;

  __device__ __forceinline__ ClusterOfAll(Where w, Shared& s)
      : own({w.blocks}, s.own), rank(own.rank), blocks(own.blocks), row(draw(w, s)), meeting(w.meeting) {}

  /// The first block draws, and writes the row into the shared memory of all.
  __device__ __forceinline__ std::int64_t draw(const Where& w, Shared& s) const {
    if (!w.drawn) return own.row;
#if __CUDA_ARCH__ >= 900
    const bool draws = rank == 0 && threadIdx.x == 0;
    unsigned next = 0;
    if (draws) next = atomicAdd(w.drawn, 1u);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");  // every block has begun
    if (draws)
      for (int i = 0; i < blocks; ++i)
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer_address(shared_address(&s.row), i)),
                     "r"(next)
                     : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");  // waited for in merge
#endif
    return s.row;
  }

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer mine) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const Normalizer slice = own.template merge<E>(mine);
    if (rank == 0 && threadIdx.x == 0) meeting.put(row, 0, slice);
    Normalizer all = identity();
    for (int i = lane; i < meeting.parts; i += 32) all = combine<E>(all, folded(meeting.get(row, i)));
    return merge_lanes<E>(all);
  }
  __device__ __forceinline__ void end() const {}
};

/// Blocks and threads of a cluster that holds a slice; 0 blocks: none does.
struct HeldSlice {
  int blocks = 0, threads = 0;
};
template <class T>
HeldSlice held_slice(std::int64_t columns) {
  const std::int64_t accesses = columns / kPerAccess<T>;
  int blocks = 1;
  while (blocks < kMostBlocks && slice_of(accesses, blocks) > kHalfHeld) blocks *= 2;
  const std::int64_t slice = slice_of(accesses, blocks);
  if (slice > kMostHeld) return {};
  return {blocks, threads_for(slice, 8)};
}

template <class Form, class T>
bool can_hold(std::int64_t columns) {
  const HeldSlice h = held_slice<T>(columns);
  const auto kernel = block_rung<Form, ClusterOfAll, T, 8, false>;
  int clusters = 0;
  if (h.blocks == 0 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
      cudaOccupancyMaxActiveClusters(
          &clusters, kernel, cluster_config(1, h.blocks, h.threads, 0, nullptr).get()) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return clusters > 0;
}

template <class Form, class T>
void launch_held(const SplitCall& c, const Stream& s, const Peers& meeting) {
  const HeldSlice h = held_slice<T>(c.columns);
  const Rows<const T> logits{static_cast<const T*>(c.logits), c.rows, c.in_pitch};
  const Rows<T> probs{static_cast<T*>(c.probs), c.rows, c.out_pitch};
  launch_clusters(block_rung<Form, ClusterOfAll, T, 8, false>, static_cast<unsigned>(c.rows), h.blocks,
                  h.threads, 0, s, logits, probs, nullptr, nullptr, c.columns,
                  ClusterOfAll::Where{h.blocks, meeting, c.drawn});
}
#endif

}  // namespace assay::ASSAY_BACKEND::onepass

namespace assay::ASSAY_BACKEND {
namespace {

using namespace onepass;

template <class T>
Rows<const T> logits_of(const SplitCall& c) {
  return {static_cast<const T*>(c.logits), c.rows, c.in_pitch};
}
Gathered gathered(const SplitCall& c) {
  return {reinterpret_cast<Normalizer*>(c.all), c.blocks, c.parts, c.own, c.rows};
}
unsigned grid_of(const SplitCall& c) { return static_cast<unsigned>(c.rows * c.blocks); }

#if defined(__CUDACC__)
Peers peers(const SplitCall& c) {
  return {c.places, c.places.of[c.own], c.number, c.blocks, c.parts, c.own, c.first, c.all_rows};
}
#endif

/// Calls f with what the call's GPUs meet by.
template <class F>
void with_meeting(const SplitCall& c, F f) {
#if defined(__CUDACC__)
  if (!c.all) return f(peers(c));
#endif
  f(gathered(c));
}

template <class Form, class T>
void sums(const SplitCall& c, const Stream& s) {
  if (c.rows == 0) return;
  with_meeting(c, [&](auto meeting) {
    launch(split_sums<Form, T, decltype(meeting)>, grid_of(c), kSplitThreads, 0, s, logits_of<T>(c),
           c.columns, c.keep, meeting);
  });
}

template <class Form, class T>
void outputs(const SplitCall& c, const Stream& s) {
  if (c.rows == 0 || c.columns == 0) return;
  const Rows<T> probs{static_cast<T*>(c.probs), c.rows, c.out_pitch};
  with_meeting(c, [&](auto meeting) {
    launch(split_outputs<Form, T, decltype(meeting)>, grid_of(c), kSplitThreads, 0, s, logits_of<T>(c), probs,
           c.columns, meeting);
  });
}

template <class Form, class T>
constexpr Claim split_claim() {
  return {
      .algorithm = Algorithm::online,
      .exp = Form::exp,
      .division = Form::division,
      .height = split_height<T>,
      .ftz = Form::ftz,
      .loads = 2,
      .stores = 1,
      .in_place = true,
      .batch_invariant = false,
  };
}

template <class Form, class T>
bool add() {
  SplitKernels k{
      kBackend,      DtypeOf<T>::value, std::is_same_v<Form, Fast>, split_claim<Form, T>(), split_blocks<T>,
      sums<Form, T>, outputs<Form, T>};
#if defined(__CUDACC__)
  k.next_number = [](unsigned* number, unsigned* drawn, const Stream& s) {
    launch(next_number, 1, 1, 0, s, number, drawn);
  };
  k.held = [](const SplitCall& c, const Stream& s) { launch_held<Form, T>(c, s, peers(c)); };
  k.can_hold = can_hold<Form, T>;
#endif
  return register_split_kernels(k);
}

const bool kAdded = add<Fast, f32>() && add<Fast, f16>() && add<Fast, bf16>() && add<Accurate, f32>() &&
                    add<Accurate, f16>() && add<Accurate, bf16>();

}  // namespace
}  // namespace assay::ASSAY_BACKEND
