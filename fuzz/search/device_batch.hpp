// SPDX-License-Identifier: Apache-2.0
// Tries many genomes at once on a GPU: generated, run and judged there. Only what each row showed comes back.
// All rows of a batch have one length and lie dense; check_case tries other layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

/// Empty if the variant can be tried in batches on the selected device, otherwise the reason.
std::string no_device_batch(const Variant& variant, Op op);

class DeviceBatch {
 public:
  /// For batches of up to this many elements and rows. All functions throw std::runtime_error with CUDA's
  /// text.
  DeviceBatch(const Variant& variant, std::int64_t elements, std::int64_t rows);
  ~DeviceBatch();

  /// Tries genomes of one V, finite or masked, each with its own rows. An evaluation has the share of the
  /// element check. `look_again` marks the genomes that did not pass: check_case must judge them.
  std::vector<Evaluation> operator()(std::span<const Genome> genomes, std::vector<bool>& look_again);

 private:
  struct Memory;
  const Variant variant_;
  std::unique_ptr<Memory> memory_;
};

/// For tests: the logits of a genome as the device makes them.
Tensor tensor_by_device(const Genome& g, Dtype dtype);

}  // namespace assay::fuzz
