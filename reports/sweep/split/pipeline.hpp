// SPDX-License-Identifier: Apache-2.0
// The pipeline of a split on its GPUs: three streams a GPU, so that the sums of one chunk, the exchange of
// the one before and the outputs of the one before that overlap. Included only where the CUDA side is
// compiled.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "accuracy/device_array.hpp"
#include "kernels/split/nccl.hpp"
#include "reports/sweep/split/split_rig.hpp"

namespace assay {

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

}  // namespace assay
