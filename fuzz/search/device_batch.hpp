// Many genomes at once on a GPU: generated there, run there, judged there; only what each row showed comes
// back. All rows of a batch have one length. Rows lie dense: layouts are check_case's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fuzz/evaluate.hpp"

namespace assay::fuzz {

/// Empty where the variant can be tried in batches on the selected device, else why not.
std::string no_device_batch(const Variant& variant, Op op);

class DeviceBatch {
 public:
  /// For batches of so many elements and rows. Throws std::runtime_error with CUDA's words, as all here.
  DeviceBatch(const Variant& variant, std::int64_t elements, std::int64_t rows);
  ~DeviceBatch();

  /// Tries genomes of one V, finite or masked, each with its own rows. An evaluation has the share of the
  /// element check; `look_again` says which genomes were not passed: they are for check_case.
  std::vector<Evaluation> operator()(std::span<const Genome> genomes, std::vector<bool>& look_again);

 private:
  struct Memory;
  const Variant variant_;
  std::unique_ptr<Memory> memory_;
};

/// The logits of a genome as the device makes them: for tests.
Tensor tensor_by_device(const Genome& g, Dtype dtype);

}  // namespace assay::fuzz
