// SPDX-License-Identifier: Apache-2.0
// Softmax and top-k in one read: how a launch is divided. The choice depends on V, k, the number of rows and
// the GPU, never on the alignment.
//
//   rows   who selects
//   many   a block a row (rows.cuh)
//   few    the blocks of a cluster a row, each a part of it: in registers (holding.cuh), if k is at most kFew
//          and they can hold it; else tile by tile (sharing.cuh)
//   few, and longer than that, or no clusters
//          up to kMostAlone accesses a block a row; else several blocks a row, each a part of it; then one
//          block a row merges what they have left
// If k is beyond kStreamK, blocks that take rows or parts of rows in turn leave (m, d) alone, and
// a radix selection is made. Rows of 2^32 - 1 elements and more take rounds (beyond.cuh for both).
#pragma once

#include <algorithm>

#include "kernels/building_blocks/onepass_topk/beyond.cuh"
#include "kernels/building_blocks/onepass_topk/holding.cuh"
#include "kernels/building_blocks/onepass_topk/rows.cuh"
#include "kernels/building_blocks/onepass_topk/sharing.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Most parts of a row, and most candidates that they leave together.
inline constexpr std::int64_t kMostParts = 256, kMostLeft = 8192;

/// Least and most accesses of a block that shares a row; most that a block of kHoldingThreads holds.
inline constexpr std::int64_t kLeastShared = 512, kMostShared = 32768,
                              kFullHolding = kHoldingThreads * kMostHolding;
/// Most accesses of a row that one block takes where others could take parts of it. On an H200, 32 rows of
/// 8192 accesses took 14.6 us so, and 17.0 in parts; 32,768 accesses 43 and 27.
inline constexpr std::int64_t kMostAlone = 8192;
/// Blocks that hold a row, where these can hold it.
inline constexpr int kUsualHolding = 8;

/// For the host executor a few, so that it has rows in parts, too.
inline std::int64_t topk_multiprocessors() {
#if defined(__CUDACC__)
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return multiprocessors;
#else
  return 4;
#endif
}
/// Threads of a block where it does not share a row, for logits of so many bytes.
constexpr int topk_threads(std::size_t bytes, int k) {
  return k > kFew ? kSelectThreads : k <= kLeastK && bytes == 4 ? kLeastThreads : kFewThreads;
}
/// Their least number for T.
template <class T>
inline constexpr int kFewestThreads = topk_threads(sizeof(T), 1);
/// Blocks that the GPU holds at a time.
inline std::int64_t topk_slots(int threads) {
  return topk_multiprocessors() * (kBackend == Backend::cuda ? 1024 / threads : 1);
}

/// Blocks of a launch for `pieces` pieces: no more than the GPU holds, so that they stay. On the host one a
/// piece, so that a part of a launch can be run: there, blocks come and go for nothing.
inline unsigned topk_grid(std::int64_t pieces, int threads, const Stream& stream) {
  return grid_for(kBackend == Backend::cuda ? std::min(pieces, topk_slots(threads)) : pieces, stream);
}
/// Whole accesses of a row, at least.
inline std::int64_t topk_accesses(const Problem& p) {
  return p.V / static_cast<std::int64_t>(16 / size_of(p.in)) - 2;
}
/// Parts of a row. Each has a whole tile at least, so that none is empty.
inline int topk_parts(const Problem& p) {
  const int threads = topk_threads(static_cast<std::size_t>(size_of(p.in)), p.k);
  return static_cast<int>(std::max<std::int64_t>(
      1,
      std::min({topk_slots(threads) / std::max<std::int64_t>(p.rows, 1),
                topk_accesses(p) / (threads * kTileCount) - 1, kMostParts, kMostLeft / std::max(p.k, 1)})));
}
/// Blocks of `threads` threads that share a row, or 1: so many that each has one tile, if that is possible.
/// `most`: largest cluster.
inline int topk_sharing_blocks(const Problem& p, int threads, int most) {
  const std::int64_t accesses = topk_accesses(p);
  int blocks = 1;
  while (accesses > blocks * threads * kTileCount && 2 * blocks <= most &&
         2 * blocks * p.rows <= 2 * topk_multiprocessors() && 2 * blocks * kLeastShared <= accesses)
    blocks *= 2;
  return accesses <= blocks * kMostShared ? blocks : 1;
}

/// A cluster that holds a row: its blocks, 1 if there is none, their threads, and accesses of a thread.
struct HoldingStep {
  int blocks = 1, threads = kHoldingThreads, count = kMostHolding;
};
/// As measured on an H200. The blocks double, up to 8, while a thread has more than 4 accesses, if each block
/// then has a multiprocessor for itself; and while it has more than 8, if two blocks share one. (From one to
/// two blocks, that is enough for 4 too.) What does not fit then gets more threads, and after that 16 blocks,
/// for which a GPU finds room more slowly. A row of up to kFullHolding / 2 accesses is faster in one block:
/// none holds it here. `most`: largest cluster.
inline HoldingStep topk_holding_step(const Problem& p, int most) {
  const std::int64_t accesses = topk_accesses(p) + 2, multiprocessors = topk_multiprocessors();
  HoldingStep s;
  const auto slice = [&] { return slice_of(accesses, s.blocks); };
  const auto may_double = [&](std::int64_t blocks_of_gpu, int up_to) {
    return 2 * s.blocks * p.rows <= blocks_of_gpu && 2 * s.blocks <= std::min(most, up_to);
  };
  while ((slice() > kFullHolding / 2 && may_double(multiprocessors, kUsualHolding)) ||
         (slice() > kFullHolding && may_double(2 * multiprocessors, kUsualHolding)) ||
         (slice() > kFullHolding / 2 && may_double(2 * multiprocessors, 2)))
    s.blocks *= 2;
  if (slice() > kFullHolding) s.threads = kMostHoldingThreads;
  while (slice() > s.threads * s.count && may_double(2 * multiprocessors, kMostBlocks)) s.blocks *= 2;
  if (slice() > s.threads * s.count) return {};
  if (slice() <= kFullHolding / 2) s.count /= 2;
  return s;
}

/// Largest number of additions on a path from a term to the sum.
template <class T>
constexpr std::int64_t topk_height(std::int64_t V) {
  constexpr std::int64_t N = kPerAccess<T>;
  // The elements of the largest tile, the edge, a merge for each of the smallest tiles; then lanes, warps,
  // lanes, of a block and of the parts.
  return std::min<std::int64_t>(kRowCount * N, V) + 1 +
         ceil_div(V / N + 1, kTileAccesses<kFewestThreads<T>>) + 2 * (5 + 5);
}

/// `m`, `d`: where they go; `workspace`: topk_bytes() of `p`, whose k counts.
template <class Form, class T, int kRoom, int kThreads>
void launch_topk(const Call<T>& c, const Problem& p, const Selected<T>& to, float* m, float* d,
                 void* workspace) {
  const int parts = topk_parts(p);
  const Pieces<T> pieces{c.logits, c.V, parts};
  const std::int64_t count = p.rows * parts;
  auto* const left = static_cast<Normalizer*>(workspace);
  const Workplace workplace{left, reinterpret_cast<Candidate*>(parts > 1 ? left + count : left), p.k};
  const auto kernel = topk_stream<Form, T, kRoom, kThreads>;
#if defined(__CUDACC__)
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(kRingBytes<kThreads>));
  cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                       cudaSharedmemCarveoutMaxShared);
#endif
  launch(kernel, topk_grid(count, kThreads, c.stream), kThreads, kRingBytes<kThreads>, c.stream, pieces, to,
         m, d, workplace);
  if (parts > 1)
    launch(topk_merge<Form, T, kLargeRoom>, c.blocks(), kSelectThreads, 0, c.stream, pieces, to, m, d,
           workplace);
}
inline std::size_t topk_bytes(const Problem& p) {
  const int parts = topk_parts(p);
  if (parts == 1) return 0;
  return static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(parts) *
         (sizeof(Normalizer) + sizeof(Candidate) * static_cast<std::size_t>(p.k));
}

#if defined(__CUDACC__)
/// Largest cluster of a kernel, 0 where there are none. Asked once by each thread for each GPU and kind of
/// kernel. `kBytes`: its dynamic shared memory.
template <std::size_t kBytes, int kThreads, class Kernel>
int largest_cluster(Kernel kernel) {
  int device = 0;
  cudaGetDevice(&device);
  static thread_local int known[64];  // one more than the answer
  if (device < 0 || device >= 64) return 0;
  if (known[device]) return known[device] - 1;
  known[device] = 1;
  int clusters = 0;
  cudaFuncAttributes code{};
  if (cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device) != cudaSuccess || !clusters ||
      cudaFuncGetAttributes(&code, kernel) != cudaSuccess || code.ptxVersion < 90 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes)) !=
          cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  for (const int blocks : {16, 8, 4, 2}) {
    int active = 0;
    auto config = cluster_config(1, blocks, kThreads, kBytes, nullptr);
    if (cudaOccupancyMaxActiveClusters(&active, kernel, config.get()) == cudaSuccess && active > 0) {
      known[device] = blocks + 1;
      break;
    }
    cudaGetLastError();
  }
  return known[device] - 1;
}
#else
template <std::size_t kBytes, int kThreads, class Kernel>
int largest_cluster(Kernel) {
  return 1024 / kThreads;
}
#endif

/// A cluster of `blocks` blocks a row.
template <class Form, class T, int kRoom, int kThreads = kThreadsSharing<kRoom>>
void launch_sharing(const Call<T>& c, const Selected<T>& to, int blocks) {
  const auto kernel = topk_sharing<Form, T, kRoom, kThreads>;
#if defined(__CUDACC__)
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(kSharingBytes<kRoom, kThreads>));
#endif
  const std::int64_t rows = c.problem.rows, most = c.blocks();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    const Pieces<T> pieces{{c.logits.row(first), count, c.logits.pitch}, c.V, blocks};
    launch_overlapping(kernel, static_cast<unsigned>(count), blocks, kThreads, kSharingBytes<kRoom, kThreads>,
                       c.stream, pieces, to, c.m, c.d, first);
  }
}
/// False if nobody can share these rows.
template <class Form, class T, int kRoom, int kThreads>
bool shared_by_clusters(const Call<T>& c, const Selected<T>& to) {
  const int most =
      largest_cluster<kSharingBytes<kRoom, kThreads>, kThreads>(topk_sharing<Form, T, kRoom, kThreads>);
  const int blocks = topk_sharing_blocks(c.problem, kThreads, most);
  if (blocks > 1) launch_sharing<Form, T, kRoom, kThreads>(c, to, blocks);
  return blocks > 1;
}
/// A cluster of `blocks` blocks holds a row.
template <class Form, class T, int kCount, int kThreads>
void launch_holding(const Call<T>& c, const Selected<T>& to, int blocks) {
  const auto kernel = topk_holding<Form, T, kCount, kThreads>;
#if defined(__CUDACC__)
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(kHoldingBytes<kThreads>));
#endif
  const std::int64_t rows = c.problem.rows, most = c.blocks();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    launch_overlapping(kernel, static_cast<unsigned>(count), blocks, kThreads, kHoldingBytes<kThreads>,
                       c.stream, Rows<const T>{c.logits.row(first), count, c.logits.pitch}, c.V, blocks, to,
                       c.m, c.d, first);
  }
}
/// False if nobody can hold these rows.
template <class Form, class T>
bool held_by_clusters(const Call<T>& c, const Selected<T>& to) {
  constexpr int kHalf = kMostHolding / 2, kUsual = kHoldingThreads, kMost = kMostHoldingThreads;
  const int most = largest_cluster<kHoldingBytes<kMost>, kMost>(topk_holding<Form, T, kMostHolding, kMost>);
  const HoldingStep s = topk_holding_step(c.problem, most);
  if (s.blocks == 1) return false;
  if (s.count == kHalf)
    launch_holding<Form, T, kHalf, kUsual>(c, to, s.blocks);
  else if (s.threads == kUsual)
    launch_holding<Form, T, kMostHolding, kUsual>(c, to, s.blocks);
  else
    launch_holding<Form, T, kMostHolding, kMost>(c, to, s.blocks);
  return true;
}
/// True if the hits of a row find room in the kernel for k up to kFew, which does not thin them out. Of
/// logits in random order about k + k^2 / 256 come from the first tile (shared_bound.cuh, 128 groups), and as
/// many whenever the number of tiles has doubled. A quarter of the room is left to chance: a row that fills
/// it is read twice.
inline bool few_hits(const Problem& p) {
  using Sizes = RowSizes<kFew>;
  std::int64_t hits = 0;
  for (std::int64_t tiles = topk_accesses(p) / Sizes::kTile + 1; tiles > 0; tiles /= 2)
    hits += p.k + p.k * p.k / 256 + 1;
  return hits <= Sizes::kHits * 3 / 4;
}

/// A block a row; k up to kMost, which is kFew or kStreamK.
template <class Form, int kMost, class T>
void launch_rows(const Call<T>& c, const Selected<T>& to) {
  constexpr int kThreads = RowSizes<kMost>::kThreads;
  const std::int64_t rows = c.problem.rows, most = c.blocks();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    const auto kernel = topk_rows<Form, T, kMost>;
    const auto blocks = static_cast<unsigned>(count);
    const Rows<const T> part{c.logits.row(first), count, c.logits.pitch};
    if (waits(kernel))
      launch_overlapping(kernel, blocks, 1, kThreads, 0, c.stream, part, c.V, to, c.m, c.d, first);
    else
      launch(kernel, blocks, kThreads, 0, c.stream, part, c.V, to, c.m, c.d, first);
  }
}
/// The k best, k up to kStreamK.
template <class Form, class T, int kRoom, int kThreads>
void launch_best(const Call<T>& c, const Selected<T>& to) {
  if constexpr (kRoom == kSmallRoom)
    if (held_by_clusters<Form>(c, to)) return;
  if (shared_by_clusters<Form, T, kRoom, kThreadsSharing<kRoom>>(c, to)) return;
  if (topk_parts(c.problem) == 1 || topk_accesses(c.problem) <= kMostAlone) {
    if constexpr (kRoom == kSmallRoom)
      if (few_hits(c.problem)) return launch_rows<Form, kFew>(c, to);
    return launch_rows<Form, kStreamK>(c, to);
  }
  launch_topk<Form, T, kRoom, kThreads>(c, c.problem, to, c.m, c.d, c.buffers.workspace);
}

template <class T>
Selected<T> selected(const Call<T>& c) {
  return {c.probs, c.buffers.indices, c.wide, c.k};
}
/// The same problem, of which only (m, d) is wanted.
inline Problem without_k(Problem p) {
  p.k = 0;
  return p;
}
inline std::int64_t radix_room(const Problem& p) { return std::min<std::int64_t>(p.k, p.V); }

/// The workspace: (m, d) of all rows, then what either stage needs; the second begins when the first is done.
template <class Form, class T>
void launch_radix(const Call<T>& c) {
  auto* const m = static_cast<float*>(c.buffers.workspace);
  float* const d = m + c.problem.rows;
  void* const place = d + c.problem.rows;
  launch_topk<Form, T, kSmallRoom, kFewestThreads<T>>(c, without_k(c.problem), Selected<T>{}, m, d, place);
  launch(topk_radix<Form, T>, std::min<unsigned>(c.blocks(), kMostRadixBlocks), kRadixThreads, 0, c.stream,
         c.logits, selected(c), m, d, c.m, c.d, c.V,
         RadixPlace{static_cast<RankedColumn*>(place), radix_room(c.problem)});
}

/// An op of one value a row of which only (m, d) is wanted.
template <class E>
struct NormalizerOf {
  using Exp = E;
  __device__ __forceinline__ static float of(Normalizer n) { return n.m; }
};
/// Longest row whose columns fit into candidates.
inline constexpr std::int64_t kLongest = 0xfffffffe;

/// (m, d) of rows of any length.
template <class Form, class T>
void launch_normalizers(const Call<T>& c, float* m, float* d) {
  const std::int64_t rows = c.problem.rows, most = c.blocks();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    launch(stream_rung<NormalizerOf<typename Form::Exp>, T>, static_cast<unsigned>(count), kStreamThreads, 0,
           c.stream, Rows<const T>{c.logits.row(first), count, c.logits.pitch}, Rows<T>{}, m + first,
           d + first, c.V);
  }
}
template <class Form, class T>
void launch_rounds(const Call<T>& c) {
  const std::int64_t rows = c.problem.rows;
  auto* const m = static_cast<float*>(c.buffers.workspace);
  launch_normalizers<Form>(c, m, m + rows);
  launch(topk_rounds<Form, T>, c.blocks(), kSelectThreads, 0, c.stream, c.logits, selected(c), m, m + rows,
         c.m, c.d, c.V);
}

/// One read for a k of `kMost` and less: the kernels of that size alone.
template <class Form, int kMost, class T>
void launch_one_read(const Call<T>& c) {
  static_assert(kMost <= kStreamK);
  launch_best<Form, T, kMost <= kFew ? kSmallRoom : kLargeRoom, topk_threads(sizeof(T), kMost)>(c,
                                                                                                selected(c));
}

/// The path as a variant, its values by Form.
template <class Form>
struct TopkLadder {
  static constexpr Op op = Form::op == Op::log_softmax ? Op::log_softmax_topk : Op::softmax_topk;
  static constexpr Pace pace = Pace::copy;
  static constexpr int max_k = 1 << 17;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .exp = Form::exp,
        .division = Form::division,
        .height = topk_height<T>,
        .ftz = Form::ftz,
        .select = Select::logits,
        .ties = Ties::smaller_index,
        .loads = 1,
        .stores = 0,
        .batch_invariant = false,
    };
  }
  static std::size_t workspace_bytes(const Problem& p) {
    const std::size_t normalizers = static_cast<std::size_t>(p.rows) * 2 * sizeof(float);
    if (p.V > kLongest) return normalizers;
    if (p.k <= kStreamK) return topk_bytes(p);
    return normalizers + std::max(topk_bytes(without_k(p)), radix_bytes(p.rows, radix_room(p)));
  }
  template <class T>
  static void run(const Call<T>& c) {
    if (c.V > kLongest)
      launch_rounds<Form>(c);
    else if (c.k > kStreamK)
      launch_radix<Form>(c);
    else if (c.k <= kLeastK)
      launch_one_read<Form, kLeastK>(c);
    else if (c.k <= kFew)
      launch_one_read<Form, kFew>(c);
    else
      launch_one_read<Form, kStreamK>(c);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
