// The ladder: which threads hold a row of length V, and the launch. The choice depends on V, on the number of
// rows and on the GPU, never on the alignment.
//
//   rung     who holds a row                         accesses (16 bytes) of the row
//   lanes    4 to 32 lanes of a warp                 up to 64
//   warp     a warp                                  up to 128; f32: 256
//   block    a block of up to 1024 threads           up to 8192; few rows: from 65 on
//   cluster  2 to 16 blocks (2 to 8 on some GPUs)    up to 131,072; few rows: from 1024 on
//   again    one block, or the largest cluster       any: what does not fit into registers is read twice
//
// Without clusters (the host executor, GPUs before compute capability 9.0) `again` follows `block`.
// Measured on an H200: PERFORMANCE.md.
#pragma once

#include <algorithm>

#include "kernels/building_blocks/onepass/block.cuh"
#include "kernels/building_blocks/onepass/lanes.cuh"
#include "kernels/building_blocks/onepass/warp.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND::onepass {

enum class Rung { lanes, warp, block, cluster };

/// `count`: accesses a thread holds. `threads`: those of a row in the rung `lanes`, else those of a block.
/// `blocks`: blocks of a row. `again`: the row does not fit.
struct Step {
  Rung rung;
  int count, threads, blocks = 1;
  bool again = false;
};

/// What the GPU offers. most_blocks is 0 if it has no clusters.
struct Gpu {
  int multiprocessors = 0;
  int most_blocks = 0;  // of a cluster
};

inline constexpr std::int64_t kMostHeld = std::int64_t{kMostThreads} * 8;  // accesses that a block holds

constexpr int threads_for(std::int64_t accesses, int count) {
  return static_cast<int>(std::max<std::int64_t>(1, ceil_div(ceil_div(accesses, count), 32)) * 32);
}

/// A slice in the registers of a block.
constexpr Step block_step(Rung rung, std::int64_t slice, int blocks, int count) {
  if (slice > kMostHeld) return {rung, 8, kMostThreads, blocks, true};
  return {rung, count, threads_for(slice, count), blocks, false};
}

template <class T>
constexpr Step step_for(std::int64_t V, std::int64_t rows, const Gpu& gpu) {
  const std::int64_t accesses = ceil_div(V, kPerAccess<T>), whole = V / kPerAccess<T>;
  constexpr bool wide = sizeof(T) == 4;
  if (accesses <= 64) {
    const int count = wide || accesses > 32 ? 2 : 1;
    int lanes = 4;
    while (lanes * count < accesses) lanes *= 2;
    return {Rung::lanes, count, lanes};
  }
  // Where there are fewer rows than multiprocessors, more threads share a row, so that each waits for less.
  if (rows < gpu.multiprocessors && whole <= 1024) return block_step(Rung::block, whole, 1, 2);
  if (whole <= 128) return {Rung::warp, 4, 32};
  if (wide && whole <= 256) return {Rung::warp, 8, 32};
  // Few rows leave most of a GPU without work, so each gets several blocks, of at least 512 accesses.
  int blocks = 1;
  const std::int64_t free = gpu.most_blocks ? gpu.multiprocessors / std::max<std::int64_t>(rows, 1) : 0;
  while (2 * blocks <= std::min<std::int64_t>(free, gpu.most_blocks) && whole / (2 * blocks) >= 512)
    blocks *= 2;
  if (gpu.most_blocks)
    blocks = static_cast<int>(
        std::min<std::int64_t>(gpu.most_blocks, std::max<std::int64_t>(blocks, ceil_div(whole, kMostHeld))));
  if (blocks > 1) {
    const std::int64_t slice = (ceil_div(whole, blocks) + 1) / 2 * 2;
    return block_step(Rung::cluster, slice, blocks, slice <= 2048 ? 2 : 8);
  }
  return block_step(Rung::block, whole, 1, !wide && whole <= 512 ? 2 : 8);
}

/// Largest number of additions on a path from a term to the sum, over all GPUs and numbers of rows.
template <class T>
constexpr std::int64_t height(std::int64_t V) {
  constexpr std::int64_t N = kPerAccess<T>;
  const Step s = step_for<T>(V, 1 << 20, {});
  if (s.rung == Rung::lanes) return s.count * N + 5;
  if (s.rung == Rung::warp) return s.count * N + 1 + 5;
  // The elements of one tile, the edge, a merge for each tile of a slice; then lanes, warps, lanes.
  const std::int64_t tiles = s.again ? ceil_div(V / N, kMostHeld) : 1;
  return s.count * N + 1 + tiles + 5 + (kMostBlocks * kMostWarps / 32 - 1) + 5;
}

/// True if some rows of this length are read a second time, on a GPU that has clusters of 16 blocks. On one
/// that has none, rows are read again from the host executor's length on.
template <class T>
constexpr bool read_again(std::int64_t V) {
  constexpr int blocks = kBackend == Backend::cuda ? kMostBlocks : 1;
  return V / kPerAccess<T> > blocks * kMostHeld;
}

#if defined(__CUDACC__)
/// Asked once by each thread for each GPU and dtype.
template <class Kernel>
Gpu gpu_for(Kernel kernel) {
  int device = 0;
  cudaGetDevice(&device);
  static thread_local Gpu known[64];
  if (device < 0 || device >= 64) return {};
  Gpu& g = known[device];
  if (g.multiprocessors) return g;
  cudaDeviceGetAttribute(&g.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  // The compiled code decides, too: code for an older GPU also runs on one that has clusters, and uses none.
  int clusters = 0;
  cudaFuncAttributes code{};
  if (cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device) != cudaSuccess || !clusters ||
      cudaFuncGetAttributes(&code, kernel) != cudaSuccess || code.ptxVersion < 90 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess)
    return g;
  for (const int blocks : {16, 8, 4, 2}) {
    int active = 0;
    if (cudaOccupancyMaxActiveClusters(
            &active, kernel, cluster_config(1, blocks, kMostThreads, nullptr).get()) == cudaSuccess &&
        active > 0) {
      g.most_blocks = blocks;
      break;
    }
    cudaGetLastError();
  }
  return g;
}
#endif

template <class Form, class T, int kCount, bool kAgain>
void launch_team(const Call<T>& c, const Step& s) {
#if defined(__CUDACC__)
  if (s.rung == Rung::cluster) {
    auto* const kernel = block_rung<Form, Cluster, T, kCount, kAgain>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    launch_clusters(kernel, c.blocks(), s.blocks, s.threads, c.stream, c.logits, c.probs, c.m, c.d, c.V,
                    s.blocks);
    return;
  }
#endif
  launch(block_rung<Form, Alone, T, kCount, kAgain>, c.blocks(), s.threads, 0, c.stream, c.logits, c.probs,
         c.m, c.d, c.V, 1);
}

template <class Form, class T, int kCount, int kLanes>
void launch_lanes_of(const Call<T>& c) {
  launch(lanes_rung<Form, T, kCount, kLanes>, c.blocks(kLanesThreads / kLanes), kLanesThreads, 0, c.stream,
         c.logits, c.probs, c.m, c.d, c.V);
}

template <class Form, class T>
void launch_lanes(const Call<T>& c, const Step& s) {
  constexpr int kCount = sizeof(T) == 4 ? 2 : 1;
  if (s.count > kCount) return launch_lanes_of<Form, T, 2, 32>(c);
  switch (s.threads) {
    case 4:
      return launch_lanes_of<Form, T, kCount, 4>(c);
    case 8:
      return launch_lanes_of<Form, T, kCount, 8>(c);
    case 16:
      return launch_lanes_of<Form, T, kCount, 16>(c);
    default:
      return launch_lanes_of<Form, T, kCount, 32>(c);
  }
}

template <class Form, class T>
void run(const Call<T>& c) {
#if defined(__CUDACC__)
  const Gpu gpu = gpu_for(block_rung<Form, Cluster, T, 8, true>);
#else
  const Gpu gpu{};
#endif
  const Step s = step_for<T>(c.V, c.problem.rows, gpu);
  const auto rows_of_a_block = [&](auto kernel, int rows, int threads, auto... more) {
    launch(kernel, c.blocks(rows), threads, 0, c.stream, c.logits, c.probs, c.m, c.d, c.V, more...);
  };
  switch (s.rung) {
    case Rung::lanes:
      return launch_lanes<Form>(c, s);
    case Rung::warp:
      if constexpr (sizeof(T) == 4)
        if (s.count == 8) return rows_of_a_block(warp_rung<Form, T, 8>, kWarpThreads / 32, kWarpThreads);
      return rows_of_a_block(warp_rung<Form, T, 4>, kWarpThreads / 32, kWarpThreads);
    case Rung::block:
    case Rung::cluster:
      if (s.count == 2) return launch_team<Form, T, 2, false>(c, s);
      return s.again ? launch_team<Form, T, 8, true>(c, s) : launch_team<Form, T, 8, false>(c, s);
  }
}

/// The ladder as a variant, its exp and division by Form. A variant's file names it and registers it.
template <class Form>
struct Ladder {
  static constexpr Op op = Op::softmax;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .exp = Form::exp,
        .division = Form::division,
        .height = height<T>,
        .ftz = Form::ftz,
        .loads = [](std::int64_t V) { return read_again<T>(V) ? 2 : 1; },
        .stores = 1,
        .in_place = true,
        .batch_invariant = false,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    onepass::run<Form>(call);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
