// SPDX-License-Identifier: Apache-2.0
// How fast the oracle judges: elements per second, end to end, on the outputs of a real kernel. It measures
// the MPFR tier and the fast judge, on this machine's cores and GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/registry.hpp"
#include "reference/tensor.hpp"

namespace assay {

struct OracleSpeed {
  std::string tier;   // mpfr, fast
  std::string where;  // "one core", "16 cores", "GPU"
  std::string key;    // the kernel whose outputs are judged
  std::int64_t rows = 0, V = 0;
  double seconds = 0;  // median over `runs`; from outputs in memory to the last verdict, escalation included
  int runs = 0;
  FastJudgement judgement;

  double elements_per_second() const {
    return seconds > 0 ? static_cast<double>(judgement.elements) / seconds : 0;
  }
  /// The share of all elements that the first look could not pass.
  double escalated() const {
    return judgement.elements > 0
               ? static_cast<double>(judgement.open) / static_cast<double>(judgement.elements)
               : 0;
  }
};

/// Runs the variant on the logits, and measures every tier that can judge its outputs where they are.
/// `copies` repeats the rows on the GPU, so that they do not fit into its cache. Throws std::runtime_error if
/// the kernel or CUDA fails.
std::vector<OracleSpeed> measure_oracle(const Variant& variant, const Tensor& logits, int copies);

}  // namespace assay
