// SPDX-License-Identifier: Apache-2.0
// Rows split over several GPUs of this host, in one process: the slices on their GPUs, the pipeline that
// works on them chunk by chunk, and the judgement of the rows put together again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/split/nccl.hpp"
#include "kernels/split/split.hpp"
#include "reference/tensor.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// How the GPUs tell each other (m, d). nccl: by an all-gather of NCCL between two kernels. peers: the
/// kernels write into each other's memory. held: so does one kernel, which holds the slice on the chip
/// meanwhile. held_in_order: the same without drawing rows; it ends only if GPUs start the blocks of a launch
/// in order, as they do but nobody promises.
enum class Exchange { nccl, peers, held, held_in_order };
inline constexpr Exchange kExchanges[] = {Exchange::nccl, Exchange::peers, Exchange::held,
                                          Exchange::held_in_order};
inline constexpr const char* kExchangeNames[] = {"nccl", "peers", "held", "held_in_order"};
constexpr const char* name(Exchange e) { return kExchangeNames[static_cast<std::size_t>(e)]; }
constexpr bool holds(Exchange e) { return e == Exchange::held || e == Exchange::held_in_order; }

/// What is computed. GPU i is CUDA's device i.
struct SplitShape {
  Dtype dtype = Dtype::f32;
  std::int64_t V = 0, rows = 0;
  int gpus = 2;
  bool fast = true;
};

/// How. While chunk i is read for its sums, the values of chunk i - 1 are exchanged and the outputs of chunk
/// i - 2 are written. At most `depth` chunks are between their first read and their last write. (held: one
/// launch for all rows.)
struct SplitWays {
  Exchange exchange = Exchange::nccl;
  std::int64_t chunk_rows = 0;
  int depth = 3;
  int teams = 1;      // of NCCL: chunk i is gathered by team i modulo this, so that several gather at a time
  bool graph = true;  // one CUDA graph a GPU; otherwise every launch is queued by the host
  bool keep = true;   // asks the L2 to keep what is read again
};

/// Rows of a chunk so that the chunks under way take half of an L2 of so many bytes, and at least one row.
std::int64_t rows_of_chunk(const SplitShape& shape, int depth, std::int64_t l2_bytes);

/// Empty, or why rows can not be split so here.
std::string cannot_split(int gpus, Exchange exchange);

// The pipeline of a split on its GPUs: three streams a GPU, so that the sums of one chunk, the exchange of
// the one before and the outputs of the one before that overlap. Included only where the CUDA side is
// compiled.

/// Where a GPU's slice lies. Rows are dense.
struct SplitMemory {
  int device = 0;
  Span slice;
  std::byte* logits = nullptr;
  std::byte* probs = nullptr;
};

class SplitPipeline {
 public:
  /// `teams` has ways.teams entries or more if the exchange is NCCL's. `flush` bytes are read before every
  /// run, so that no cache holds logits; 0: not needed.
  SplitPipeline(const SplitShape& shape, const SplitWays& ways, const std::vector<SplitMemory>& memory,
                const std::vector<std::unique_ptr<NcclTeam>>& teams, std::size_t flush);
  ~SplitPipeline();
  std::vector<double> run_us();

 private:
  struct Gpu;
  void enqueue();
  void enqueue_sums(Gpu& g, std::size_t chunk);
  void exchange(std::size_t chunk);
  void enqueue_outputs(Gpu& g, std::size_t chunk);
  void capture();
  SplitCall call(const Gpu& g, std::size_t chunk) const;
  bool gathers() const { return ways_.exchange == Exchange::nccl; }

  SplitShape shape_;
  SplitWays ways_;
  const SplitKernels& kernels_;
  const std::vector<std::unique_ptr<NcclTeam>>& teams_;
  std::vector<Span> chunks_;
  int blocks_ = 1;
  std::size_t flush_ = 0;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  SplitPlaces places_;
  unsigned* flag_ = nullptr;
  unsigned ticket_ = 0;
};

class DeviceArray;

/// All functions throw std::runtime_error if a launch, NCCL or the machine fails. Only where the CUDA side is
/// compiled.
class SplitRig {
 public:
  /// The rows of `tile` are repeated. Every GPU gets its columns of them.
  SplitRig(const SplitShape& shape, const Tensor& tile);
  ~SplitRig();
  const std::vector<Span>& slices() const { return slices_; }
  /// The ways with the rows of a chunk, if they are 0. `held` has one chunk, of all rows.
  SplitWays settled(SplitWays ways) const;
  /// A sentence on how the caches are kept cold.
  std::string cold() const;

  /// From now on runs go this way. The first run of a way is made here and not timed.
  void choose(const SplitWays& ways);
  /// One run over all rows. All GPUs begin together; returns each one's time in us.
  std::vector<double> run_us() { return pipeline_->run_us(); }

  /// Fills every output on every GPU with a pattern that no right output contains.
  void poison();
  /// Puts the rows together on GPU 0 and judges all outputs by the fast judge, against the logits that the
  /// GPUs were given. It stops at the first failure. `open_rows` gets the number of rows not finished within
  /// `seconds`.
  FastJudgement judge(double seconds, std::int64_t& open_rows);
  /// True if the logits on every GPU are still those that it was given.
  bool logits_intact();

 private:
  /// Bytes that the largest slice reads and writes.
  std::size_t moved() const;
  std::size_t flush_bytes() const;
  /// Gives GPU i its columns of all rows.
  void place(int i, const Tensor& tile);
  void require_held() const;
  void let_all_access() const;

  SplitShape shape_;
  std::vector<Span> slices_;
  std::int64_t tile_rows_ = 0, l2_ = 0;
  std::vector<std::unique_ptr<DeviceArray>> logits_, probs_, tiles_;
  std::vector<SplitMemory> memory_;
  Tensor whole_;
  std::vector<std::unique_ptr<NcclTeam>> teams_;
  std::unique_ptr<SplitPipeline> pipeline_;
};

/// Times rows split over GPUs, each way that was asked for, beside what each GPU takes alone for its slice
/// and beside its copy. Every output is judged before and after the timing.
struct SplitRun {
  SplitShape shape;
  /// A chunk of 0 rows: as many as the rig says.
  std::vector<SplitWays> ways;
  std::string family = "normal_1";
  std::uint64_t seed = 1;
};

/// The record of one way before it runs.
SplitRecord blank_split_record(const SplitRun& run, const SplitWays& ways);

/// One record for each way, handed to `done` as soon as it is made. Throws InputError for a family without
/// such rows, and std::runtime_error if a GPU fails where nothing can be timed.
std::vector<SplitRecord> run_split(const SplitRun& run, const std::function<void(const SplitRecord&)>& done);

}  // namespace assay
