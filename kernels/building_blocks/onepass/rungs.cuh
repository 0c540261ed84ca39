// SPDX-License-Identifier: Apache-2.0
// The ladder: which threads hold a row of length V, and the launch. The choice depends on V, on the number of
// rows and on the GPU, never on the alignment.
//
//   rung     who holds a row                         accesses (16 bytes) of the row
//   lanes    4 to 32 lanes of a warp                 up to 64
//   warp     a warp                                  up to 128; f32: 256
//   block    a block of up to 512 threads            up to 4096 (1024, 8192, where there are no clusters);
//                                                    few rows: from 65 on
//   cluster  2 to 16 blocks (2 to 8 on some GPUs)    up to 65,536; few rows: from 512 on
//   boxed    such a cluster, shared memory too       up to 327,680
//   grid     all blocks of the GPU                   few rows: more than 49,152 (from 32,768 on,
//                                                    where no cluster has 16 blocks)
//   again    one block, or the largest cluster       any: what does not fit is read twice
//   stream   a block that reads it and keeps nothing  only lse: from 4097 on, if the rows fill the GPU
//
// On GPUs before compute capability 9.0, which have no clusters, `again` follows `block`. The host executor
// has clusters of at most 1024 threads, and no `grid`: there `boxed` ends at 16,384 accesses.
//
// Measured: PERFORMANCE.md.
#pragma once

#include <algorithm>

#include "kernels/building_blocks/onepass/block.cuh"
#include "kernels/building_blocks/onepass/lanes.cuh"
#include "kernels/building_blocks/onepass/stream.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND::onepass {

enum class Rung { lanes, warp, block, cluster, boxed, grid, stream };

/// `count`: accesses a thread holds in registers. `threads`: those of a row in the rung `lanes`, else those
/// of a block. `blocks`: blocks of a row. `room`: accesses that a block holds in shared memory. `again`: the
/// row does not fit. `staged`: the rung `lanes` may take rows through shared memory. `overlaps`: the launch
/// may begin while the kernel before it ends.
struct Step {
  Rung rung;
  int count, threads, blocks = 1;
  bool again = false;
  int room = 0;
  bool staged = false, overlaps = false;
};

inline constexpr int kMostRoom = 12288;  // accesses in a block's shared memory: 192 KiB
inline constexpr int kHalfRoom = 6144;   // so that a multiprocessor holds two blocks

/// What the GPU offers. most_blocks is 0 if it has no clusters.
struct Gpu {
  int multiprocessors = 0;
  int most_blocks = 0;  // of a cluster
  bool grid = false;    // cooperative launches, and a place to meet
  int cluster_threads = kMostBlocks * kMostThreads;
  int room = kMostRoom;
  bool overlaps = false;  // of launches
};
/// The executor has a stack for each thread of a cluster, so it gets few. With so little room, rows of usual
/// lengths go through every rung.
inline constexpr Gpu kHostExecutor{.most_blocks = 8, .cluster_threads = 1024, .room = 1024, .overlaps = true};

inline constexpr std::int64_t kMostHeld = std::int64_t{kMostThreads} * 8;  // accesses in a block's registers
inline constexpr std::int64_t kHalfHeld = kMostHeld / 2;  // so that a multiprocessor holds two blocks

constexpr int threads_for(std::int64_t accesses, int count) {
  return static_cast<int>(std::max<std::int64_t>(1, ceil_div(ceil_div(accesses, count), 32)) * 32);
}

/// A slice in the registers of a block.
constexpr Step block_step(Rung rung, std::int64_t slice, int blocks, int count) {
  if (slice > kMostHeld) return {rung, 8, kMostThreads, blocks, true};
  return {rung, count, threads_for(slice, count), blocks, false};
}
/// Most accesses in the registers of a block of `threads` threads, in a cluster of so many blocks.
constexpr std::int64_t held_by(int threads, int blocks, const Gpu& gpu) {
  return std::int64_t{std::min(threads, gpu.cluster_threads / blocks)} * 8;
}
/// Accesses a thread holds of a slice of a cluster that has one of few rows. Measured on an H100 and an H200:
/// fewer accesses a thread are faster, as long as a block then has at most 200 to 400 threads.
template <class T>
constexpr int held_of_slice(std::int64_t slice) {
  if constexpr (sizeof(T) == 4) return slice <= 384 ? 2 : slice <= 768 ? 4 : 8;
  return slice < 512 ? 2 : slice <= 1536 ? 4 : 8;
}
/// A slice of a cluster. Two blocks on a multiprocessor, if that is possible: one loads while the other
/// stores. `few`: the rows do not fill the GPU.
template <class T>
constexpr Step cluster_step(std::int64_t slice, int blocks, bool few, const Gpu& gpu) {
  const std::int64_t half = held_by(kMostThreads / 2, blocks, gpu),
                     whole = held_by(kMostThreads, blocks, gpu);
  if (slice <= half) {
    const int count = few ? held_of_slice<T>(slice) : 8;
    return block_step(Rung::cluster, slice, blocks, slice <= half / 8 * count ? count : 8);
  }
  const auto boxed = [&](std::int64_t held) {
    return Step{Rung::boxed, 8, static_cast<int>(held / 8), blocks, false, static_cast<int>(slice - held)};
  };
  if (slice <= half + std::min(gpu.room, kHalfRoom)) return boxed(half);
  if (slice <= whole + gpu.room) return boxed(whole);
  return {Rung::cluster, 8, static_cast<int>(whole / 8), blocks, true};
}

/// The team of a row in the grid: two blocks on a multiprocessor where registers hold such a slice, else one.
constexpr Step grid_step(std::int64_t accesses, std::int64_t rows, const Gpu& gpu) {
  const auto slice_for = [&](int each) {
    return slice_of(accesses,
                    static_cast<int>(std::min<std::int64_t>(each * gpu.multiprocessors / rows, kMostTeam)));
  };
  const int each = slice_for(2) <= kHalfHeld ? 2 : 1;
  const std::int64_t slice = slice_for(each);
  const auto blocks = static_cast<int>(std::min<std::int64_t>(each * gpu.multiprocessors / rows, kMostTeam));
  if (slice > kMostHeld)
    return {Rung::grid, 8, kMostThreads, blocks, false, static_cast<int>(slice - kMostHeld)};
  const std::int64_t threads = kMostThreads / each;  // that a block may have
  return block_step(Rung::grid, slice, blocks, slice <= 2 * threads ? 2 : slice <= 4 * threads ? 4 : 8);
}
/// True if that is faster than clusters: the grid exchanges (m, d) more slowly, but has more blocks for a
/// row. Measured: clusters of 16 are faster up to 37,984 accesses, the grid from 64,512 on.
constexpr bool better_in_grid(std::int64_t accesses, std::int64_t rows, const Gpu& gpu) {
  if (!gpu.grid || rows > kMostTeams || 16 * rows > 2 * gpu.multiprocessors ||
      accesses <= (gpu.most_blocks == kMostBlocks ? 49152 : 32767))
    return false;
  const std::int64_t room = gpu.most_blocks ? gpu.room : 0;
  return slice_of(accesses, static_cast<int>(gpu.multiprocessors / rows)) <= kMostHeld + room;
}

/// True if a team of so many blocks is large enough, that is, if a larger one is not faster. Clusters of 16
/// fill a GPU less well than those of 8, so shared memory is used before a cluster grows from 8 to 16.
constexpr bool holds(int blocks, std::int64_t accesses, const Gpu& gpu) {
  const std::int64_t slice = slice_of(accesses, blocks), held = held_by(kMostThreads / 2, blocks, gpu);
  return slice <= held ||
         (blocks == 8 && slice > held * 5 / 4 && slice <= held + std::min(gpu.room, kHalfRoom));
}

/// So many rows fill every GPU. A form whose bits may not depend on the number of rows always takes the step
/// of so many.
inline constexpr std::int64_t kManyRows = 1 << 20;

/// `keeps_nothing`: the op writes one value a row, so that nobody needs the row again.
template <class T>
constexpr Step step_for(std::int64_t V, std::int64_t rows, const Gpu& gpu, bool keeps_nothing = false) {
  const std::int64_t accesses = ceil_div(V, kPerAccess<T>), whole = V / kPerAccess<T>;
  constexpr bool wide = sizeof(T) == 4;
  if (accesses <= 64) {
    const int count = wide || accesses > 16 ? 2 : 1;
    int lanes = 4;
    while (lanes * count < accesses) lanes *= 2;
    // With few rows, the detour takes longer than what it saves.
    Step s{Rung::lanes, count, lanes};
    s.staged = rows >= std::int64_t{8} * gpu.multiprocessors;
    return s;
  }
  // Where there are fewer rows than multiprocessors, more threads share a row, so that each waits for less.
  if (rows < gpu.multiprocessors && whole <= 1024) return block_step(Rung::block, whole, 1, 2);
  if (whole <= 128) return {Rung::warp, 4, 32};
  if (wide && whole <= 256) return {Rung::warp, 8, 32};
  if (keeps_nothing && whole > kHalfHeld && rows >= std::int64_t{kStreamBlocks} * gpu.multiprocessors)
    return {Rung::stream, kStreamCount, kStreamThreads};
  // Few rows leave most of a GPU without work, so each gets several blocks, of at least 256 accesses.
  int blocks = 1;
  const std::int64_t free = 2 * gpu.multiprocessors / std::max<std::int64_t>(rows, 1);
  while (2 * blocks <= gpu.most_blocks &&
         (!holds(blocks, whole, gpu) || (2 * blocks <= free && whole / (2 * blocks) >= 256)))
    blocks *= 2;
  if (better_in_grid(whole, rows, gpu)) return grid_step(whole, rows, gpu);
  // In 16-bit types, eight blocks of 256 threads are faster than four of 512.
  if (!wide && blocks == 4 && gpu.most_blocks >= 8 && whole > 2 * kHalfHeld) blocks = 8;
  if (blocks > 1) return cluster_step<T>(slice_of(whole, blocks), blocks, free >= 2, gpu);
  return block_step(Rung::block, whole, 1, whole <= (wide ? 512 : 1024) ? 4 : 8);
}

/// Largest number of additions on a path from a term to the sum, over all GPUs and numbers of rows. A test
/// compares it with the rungs of several.
template <class Form, class T>
constexpr std::int64_t height(std::int64_t V) {
  constexpr std::int64_t N = kPerAccess<T>;
  const Step s = step_for<T>(V, kManyRows, {}, one_value(Form::op));
  if (s.rung == Rung::lanes) return s.count * N + 5;
  if (s.rung == Rung::warp) return s.count * N + 1 + 5;
  // The elements of one tile, the edge, a merge for each tile of a slice; then lanes, warps, lanes.
  const std::int64_t tiles = s.rung == Rung::stream ? ceil_div(V / N, kStreamThreads * kStreamCount) + 1
                             : s.again              ? ceil_div(V / N, kMostHeld)
                                                    : 1;
  const int count = s.rung == Rung::stream ? 8 : s.count;  // of few rows, 8 may be held
  return count * N + 1 + tiles + 5 + (kMostBlocks * kMostWarps / 32 - 1) + 5;
}

/// True if some rows of this length are read a second time: on the host executor, or on a GPU that has
/// clusters of 16 blocks. On a GPU that has none, they are from 8193 accesses on.
template <class T>
constexpr bool read_again(std::int64_t V) {
  constexpr Gpu gpu = kBackend == Backend::cuda ? Gpu{132, kMostBlocks} : kHostExecutor;
  return step_for<T>(V, kManyRows, gpu).again;
}

#if defined(__CUDACC__)
/// Asked once by each thread for each GPU and dtype. `kernel`: the one of the rung `boxed`, which needs most.
template <class Kernel>
Gpu gpu_for(Kernel kernel) {
  int device = 0;
  cudaGetDevice(&device);
  static thread_local Gpu known[64];
  if (device < 0 || device >= 64) return {};
  Gpu& g = known[device];
  if (g.multiprocessors) return g;
  cudaDeviceGetAttribute(&g.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  // The compiled code decides, too: code for an older GPU also runs on a newer one, without what that one
  // offers.
  int cooperative = 0, clusters = 0;
  cudaFuncAttributes code{};
  if (cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device) != cudaSuccess ||
      cudaFuncGetAttributes(&code, kernel) != cudaSuccess)
    return g;
  g.grid = cooperative != 0 && code.ptxVersion >= 70;
  // Both came with compute capability 9.0. Older code would not wait for the kernel before it.
  g.overlaps = clusters && code.ptxVersion >= 90;
  if (!clusters || code.ptxVersion < 90 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostRoom * 16) !=
          cudaSuccess)
    return g;
  for (const int blocks : {16, 8, 4, 2}) {
    int active = 0;
    auto config = cluster_config(1, blocks, kMostThreads, kMostRoom * 16, nullptr);
    if (cudaOccupancyMaxActiveClusters(&active, kernel, config.get()) == cudaSuccess && active > 0) {
      g.most_blocks = blocks;
      break;
    }
    cudaGetLastError();
  }
  return g;
}
#endif

/// The rows of one launch, at most 2^26: 32 bits count them.
template <class T>
struct Part {
  Rows<const T> logits;
  Rows<T> probs;
  float *m, *d;
  unsigned blocks;  // of `per_block` rows each; clusters, where a cluster holds a row
};

/// Calls launch(part) for all rows, as many at a time as the grid may hold. A block has its rows for the
/// length of one launch: with a loop over rows in the kernel, rows of more than 64 K elements took 7 to 9 %
/// longer (H200).
template <class T, class F>
void in_parts(const Call<T>& c, int per_block, F launch_part) {
  const std::int64_t rows = c.problem.rows,
                     most = std::int64_t{std::min(c.blocks(per_block), 1u << 20)} * per_block;
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    launch_part(Part<T>{{c.logits.row(first), count, c.logits.pitch},
                        {c.probs.base ? c.probs.row(first) : nullptr, count, c.probs.pitch},
                        c.m ? c.m + first : nullptr,
                        c.d ? c.d + first : nullptr,
                        static_cast<unsigned>(ceil_div(count, per_block))});
  }
}

template <class T, class... P, class... A>
void launch_parts(const Call<T>& c, const Step& s, void (*kernel)(P...), int per_block, int threads,
                  A... more) {
  in_parts(c, per_block, [&](const Part<T>& p) {
    if (s.overlaps)
      launch_overlapping(kernel, p.blocks, 1, threads, 0, c.stream, p.logits, p.probs, p.m, p.d, c.V,
                         more...);
    else
      launch(kernel, p.blocks, threads, 0, c.stream, p.logits, p.probs, p.m, p.d, c.V, more...);
  });
}

template <class T, class... P, class... A>
void launch_parts_in_clusters(const Call<T>& c, void (*kernel)(P...), const Step& s, A... more) {
#if defined(__CUDACC__)
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (s.room) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostRoom * 16);
#endif
  in_parts(c, 1, [&](const Part<T>& p) {
    const auto room = static_cast<std::size_t>(s.room) * 16;
    const Cluster::Where where{s.blocks};
    if (s.overlaps)
      launch_overlapping(kernel, p.blocks, s.blocks, s.threads, room, c.stream, p.logits, p.probs, p.m, p.d,
                         c.V, where, more...);
    else
      launch_clusters(kernel, p.blocks, s.blocks, s.threads, room, c.stream, p.logits, p.probs, p.m, p.d, c.V,
                      where, more...);
  });
}

#if defined(__CUDACC__)
/// All rows in one launch.
template <class T, class... P, class... A>
void launch_grid(const Call<T>& c, void (*kernel)(P...), const Step& s, MeetingPlace* place, A... more) {
  if (s.room) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostRoom * 16);
  launch_cooperative(kernel, static_cast<unsigned>(c.problem.rows * s.blocks), s.threads,
                     static_cast<std::size_t>(s.room) * 16, c.stream, c.logits, c.probs, c.m, c.d, c.V,
                     Grid::Where{s.blocks, place}, more...);
}
#endif

template <class Form, class T, int kCount, bool kAgain>
void launch_team(const Call<T>& c, const Step& s) {
  if (s.rung == Rung::cluster)
    return launch_parts_in_clusters(c, block_rung<Form, Cluster, T, kCount, kAgain>, s);
  launch_parts(c, s, block_rung<Form, Alone, T, kCount, kAgain>, 1, s.threads, Alone::Where{});
}

#if defined(__CUDACC__)
template <class Form, class T>
void launch_in_grid(const Call<T>& c, const Step& s, MeetingPlace* place) {
  if (s.room) return launch_grid(c, boxed_rung<Form, Grid, T, 8>, s, place, s.room);
  if (s.count == 2) return launch_grid(c, block_rung<Form, Grid, T, 2, false>, s, place);
  if (s.count == 4) return launch_grid(c, block_rung<Form, Grid, T, 4, false>, s, place);
  launch_grid(c, block_rung<Form, Grid, T, 8, false>, s, place);
}
#endif

template <class Form, class T>
void launch_warp(const Call<T>& c, const Step& s) {
  const auto start = [&](auto kernel) { launch_parts(c, s, kernel, kWarpThreads / 32, kWarpThreads); };
  if constexpr (sizeof(T) == 4)
    if (s.count == 8) return start(warp_rung<Form, T, 8>);
  start(warp_rung<Form, T, 4>);
}

template <class Form, class T>
void run(const Call<T>& c) {
  const std::int64_t rows = kAnywhere<Form> ? kManyRows : c.problem.rows;
#if defined(__CUDACC__)
  Gpu gpu = gpu_for(boxed_rung<Form, Cluster, T, 8>);
  Step s = step_for<T>(c.V, rows, gpu, one_value(Form::op));
  if constexpr (!kAnywhere<Form>)
    if (s.rung == Rung::grid) {
      if (MeetingPlace* const place = meeting_place(c.stream.handle))
        return launch_in_grid<Form>(c, s, place);
      gpu.grid = false;
      s = step_for<T>(c.V, rows, gpu, one_value(Form::op));
    }
#else
  constexpr Gpu gpu = kHostExecutor;
  Step s = step_for<T>(c.V, rows, gpu, one_value(Form::op));
#endif
  s.overlaps = gpu.overlaps;
  if (s.rung == Rung::boxed) return launch_parts_in_clusters(c, boxed_rung<Form, Cluster, T, 8>, s, s.room);
  if constexpr (one_value(Form::op))
    if (s.rung == Rung::stream) return launch_parts(c, s, stream_rung<Form, T>, 1, s.threads);
  switch (s.rung) {
    case Rung::lanes:
      return launch_lanes<Form>(
          c, s.count, s.threads, s.staged,
          [&](auto kernel, int per_block, int threads) { launch_parts(c, s, kernel, per_block, threads); });
    case Rung::warp:
      return launch_warp<Form>(c, s);
    default:
      if (s.count == 2) return launch_team<Form, T, 2, false>(c, s);
      if (s.count == 4) return launch_team<Form, T, 4, false>(c, s);
      return s.again ? launch_team<Form, T, 8, true>(c, s) : launch_team<Form, T, 8, false>(c, s);
  }
}

/// The ladder as a variant, its exp and division by Form. A variant's file names it and registers it.
template <class Form>
struct Ladder {
  static constexpr Op op = Form::op;
  static constexpr Pace pace = Pace::copy;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .exp = Form::exp,
        .division = Form::division,
        .height = height<Form, T>,
        .ftz = Form::ftz,
        .loads = [](std::int64_t V) { return Form::op != Op::lse && read_again<T>(V) ? 2 : 1; },
        .stores = Form::op == Op::lse ? 0 : 1,
        .in_place = Form::op != Op::lse,
        .batch_invariant = kAnywhere<Form>,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    onepass::run<Form>(call);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
