// SPDX-License-Identifier: Apache-2.0
// Softmax of rows whose columns are split over several GPUs. Every GPU holds one slice of every row. It
// computes the (m, d) of its slice; the GPUs tell each other, and each merges all values by ⊕ and writes the
// outputs of its slice. Here: which columns are whose, how rows are cut into chunks, and the kernels as
// functions. What moves the values between GPUs is not here (reports/sweep/split/, nccl.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Most GPUs that share a row.
inline constexpr int kMostParts = 16;

/// Some neighbouring columns of every row, or some neighbouring rows.
struct Span {
  std::int64_t first = 0, count = 0;
  bool operator==(const Span&) const = default;
};

/// Equal slices of V columns; the last ones are shorter, or empty.
std::vector<Span> column_slices(std::int64_t V, int parts);
/// Rows that are worked on together.
std::vector<Span> row_chunks(std::int64_t rows, std::int64_t rows_a_chunk);

/// One address for each GPU.
struct SplitPlaces {
  void* of[kMostParts] = {};
};

/// One chunk of rows on one GPU. Addresses are of the chunk's first row; pitches count elements.
struct SplitCall {
  const void* logits = nullptr;
  void* probs = nullptr;
  std::int64_t in_pitch = 0, out_pitch = 0;
  std::int64_t rows = 0, columns = 0;
  int blocks = 1;          // that share a slice; the same on every GPU
  int parts = 1, own = 0;  // number of GPUs, and which one this is
  bool keep = false;       // asks the L2 to keep what `sums` reads until `outputs` has read it
  /// (m, d) as pairs of floats: parts x rows x blocks. `sums` writes those of `own`; `outputs` reads all.
  /// Null: the GPUs write into each other's memory, as follows.
  float* all = nullptr;
  SplitPlaces places = {};           // 32 bytes x parts x all_rows x blocks on each GPU, zero at first
  const unsigned* number = nullptr;  // number of the run, from 1; the same on every GPU
  // `held`: rows that clusters of this GPU have drawn in this run. Null: a cluster's number is its row.
  unsigned* drawn = nullptr;
  std::int64_t first = 0, all_rows = 0;  // place of the chunk's first row among all rows, and their number
};

/// The kernels for one dtype on one backend.
struct SplitKernels {
  Backend backend = Backend::host;
  Dtype dtype = Dtype::f32;
  bool fast = true;  // exp and division as onepass_fast, otherwise as onepass
  Claim claim = {};  // of the whole row, for any number of GPUs
  int (*blocks)(std::int64_t columns) = nullptr;
  void (*sums)(const SplitCall&, const Stream&) = nullptr;
  void (*outputs)(const SplitCall&, const Stream&) = nullptr;
  // Null where GPUs cannot write into each other's memory:
  void (*next_number)(unsigned* number, unsigned* drawn, const Stream&) = nullptr;
  /// One kernel for both, in one launch for all rows: clusters of blocks hold the slice on the chip until the
  /// other GPUs' values have arrived, one value a slice (`blocks` is 1).
  void (*held)(const SplitCall&, const Stream&) = nullptr;
  bool (*can_hold)(std::int64_t columns) = nullptr;  // false: a slice is too long, or the GPU has no clusters
};

/// Null if this build has none.
const SplitKernels* find_split_kernels(Backend backend, Dtype dtype, bool fast);
/// Called before main, by split_kernels.cu.
bool register_split_kernels(SplitKernels k);

/// The split as a kernel on one memory: every slice of a row in turn, as if a GPU held it. For judging the
/// merge where there is one GPU, or none. Its name is onepass_split_fast or onepass_split.
Variant split_on_one_memory(const SplitKernels& kernels, int parts, std::int64_t rows_a_chunk);

}  // namespace assay
