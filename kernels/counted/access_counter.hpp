// SPDX-License-Identifier: Apache-2.0
// Counts the accesses of instrumented code to up to six memory ranges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::access_counter {

struct Range {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  std::int64_t loaded = 0, stored = 0;  // bytes
};

/// From now on, accesses of this OS thread are added to these ranges. An empty span stops the counting.
void watch(std::span<Range> ranges);

}  // namespace assay::access_counter
