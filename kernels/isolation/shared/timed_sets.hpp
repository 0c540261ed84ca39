// SPDX-License-Identifier: Apache-2.0
// Where the buffers of launches that are timed lie. Both sides compute it.
#pragma once

#include <cstdint>

namespace assay {

/// Sets of buffers in one piece of memory: first the logits of every set, then the values and indices of each
/// set, then all workspaces. The members are bytes of one set, each a multiple of 256.
struct TimedSets {
  void* memory = nullptr;  // what cudaMalloc gave
  std::uint64_t size = 0;
  int generation = 0;  // another one whenever the memory was replaced
  std::int64_t count = 1;
  std::uint64_t logits = 0, values = 0, indices = 0, workspace = 0;

  struct At {
    std::uint64_t logits = 0, values = 0, indices = 0, workspace = 0;
  };
  /// Where the buffers of a set lie.
  At at(std::int64_t set) const {
    const auto n = static_cast<std::uint64_t>(set), all = static_cast<std::uint64_t>(count);
    const std::uint64_t outputs = all * logits + n * (values + indices);
    return {n * logits, outputs, outputs + values, all * (logits + values + indices) + n * workspace};
  }
};

}  // namespace assay
