// The arena as a worker sees it: of every region exactly the bytes of the launch, at addresses that stay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

class WorkerMemory {
 public:
  /// Reserves addresses for all regions; false without them.
  bool reserve();
  void adopt(int file) { file_ = file; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(base_); }

  /// Maps the slices of a launch. Where the payloads lie, or a fault.
  std::string map(int slot, const Slice (&slices)[kBuffers], std::array<void*, kBuffers>& at);
  /// Lays one window over all of the mapped logits of slot 0 that are not their own. For one launch: the next
  /// `map` of that region knows nothing of it. A fault, or empty.
  std::string repeat(const Windows& windows);

 private:
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::uint64_t mapped_[kSlots][kBuffers] = {};
};

}  // namespace assay::isolation
