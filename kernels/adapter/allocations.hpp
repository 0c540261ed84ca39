// SPDX-License-Identifier: Apache-2.0
// The memory that a user's file allocates with cudaMalloc, on the host executor.
#pragma once

#include <stdlib.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/host/executor.hpp"

namespace assay_cuda {

/// Poisons the memory that the file allocates, and guard bytes on both sides of it. A launch that writes the
/// guards is a fault. So is freeing a block whose guards were written.
class Allocations {
 public:
  void* take(size_t bytes) {
    auto* const base =
        static_cast<char*>(::aligned_alloc(kGuard, (bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard));
    if (!base) return nullptr;
    ::assay::executor::poison(base, bytes + 2 * kGuard);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[base + kGuard] = {bytes, guards(base, bytes)};
    return base + kGuard;
  }
  /// Frees a block. False if it was not allocated here.
  bool give_back(void* p) {
    if (!p) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(p));
    if (found == blocks_.end()) return false;
    const std::string fault = fault_of(*found);
    blocks_.erase(found);
    ::free(static_cast<char*>(p) - kGuard);
    if (!fault.empty()) throw ::assay::executor::Fault(fault, ::assay::FaultKind::own_memory_overrun);
    return true;
  }
  void check() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& block : blocks_)
      if (const std::string fault = fault_of(block); !fault.empty())
        throw ::assay::executor::Fault(fault, ::assay::FaultKind::own_memory_overrun);
  }

 private:
  static constexpr size_t kGuard = 256;
  struct Block {
    size_t bytes = 0;
    std::string guards;
  };
  static std::string guards(const char* base, size_t bytes) {
    return std::string(base, kGuard) + std::string(base + kGuard + bytes, kGuard);
  }
  /// Reports each overrun once, for the launch that made it.
  static std::string fault_of(std::pair<char* const, Block>& b) {
    const std::string now = guards(b.first - kGuard, b.second.bytes);
    if (now == b.second.guards) return {};
    const bool before = now.compare(0, kGuard, b.second.guards, 0, kGuard) != 0;
    b.second.guards = now;
    return std::string("memory was written ") + (before ? "before" : "past") + " the " +
           std::to_string(b.second.bytes) + " bytes that cudaMalloc gave";
  }

  std::mutex mutex_;
  std::map<char*, Block> blocks_;
};
/// Never destroyed: objects of the file may free memory when the process ends.
inline Allocations& allocations = *new Allocations;

}  // namespace assay_cuda
