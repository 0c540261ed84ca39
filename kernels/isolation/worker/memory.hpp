// SPDX-License-Identifier: Apache-2.0
// The arena as a worker sees it: exactly the bytes of the launch from each region, always at the same
// addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

class WorkerMemory {
 public:
  /// Reserves addresses for all regions. False if there are none.
  bool reserve();
  void adopt(int file) { file_ = file; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(base_); }

  /// Maps the slices of a launch. Writes where the payloads lie to `at`. Returns a fault, or empty.
  std::string map(int slot, const Slice (&slices)[kBuffers], std::array<void*, kBuffers>& at);
  /// Maps one window again and again over the logits of slot 0, except over windows of their own. It holds
  /// for one launch: the next `map` of that region knows nothing of it. Returns a fault, or empty.
  std::string repeat(const Windows& windows);

 private:
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::uint64_t mapped_[kSlots][kBuffers] = {};
};

}  // namespace assay::isolation
