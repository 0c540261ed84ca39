// A shared object of the C ABI (kernels/plugin.h), opened and read. Only workers do this: what is loaded here
// may crash, hang or lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/isolation/message.hpp"
#include "kernels/plugin.h"

namespace assay::isolation {

class PluginLibrary {
 public:
  /// One sentence of what is wrong with the library, or empty.
  std::string open(const std::string& path);

  std::size_t size() const { return variants_.size(); }
  Described describe(std::size_t entry) const;

  /// Calls the entry. Empty, or what it returned or threw.
  Said run(std::size_t entry, const Launch& request, int slot, const std::array<void*, kBuffers>& at,
           void* stream, int device) const;
  /// Throws what the entry throws.
  std::uint64_t workspace_bytes(std::size_t entry, const Problem& problem,
                                const std::array<void*, kBuffers>& at, int device) const;
  /// Whether the blocks of a launch can be chosen.
  bool chooses() const { return choose_ != nullptr; }
  bool on_device(std::size_t entry) const { return variants_[entry].device_type == 2; }

 private:
  std::vector<assay_variant> variants_;
  void (*control_)(std::uint64_t schedule, std::int64_t max_blocks) = nullptr;
  void (*choose_)(const std::int64_t* rows, std::uint64_t count, std::int64_t per_block) = nullptr;
  const char* (*fault_)() = nullptr;  // why the last run on this thread did not return 0
  const char* (*fault_kind_)() = nullptr;
};

}  // namespace assay::isolation
