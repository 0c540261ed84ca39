// SPDX-License-Identifier: Apache-2.0
// Opens and reads a shared object with the C ABI (kernels/plugin.h). Only workers do this, because a library
// may crash, hang or lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/isolation/worker/loop.hpp"
#include "kernels/plugin.h"

namespace assay::isolation {

class PluginLibrary : public WorkerKernels {
 public:
  /// Returns one sentence that says what is wrong with the library, or empty.
  std::string open(const std::string& path);
  /// The same for what its entry returned, wherever that came from.
  std::string read(const assay_plugin* entry);

  std::size_t size() const override { return variants_.size(); }
  Described describe(std::size_t entry) const override;
  Said run(const Launch& request, int slot, const std::array<void*, kBuffers>& at, void* stream,
           int device) const override;
  std::uint64_t workspace_bytes(std::size_t entry, const Problem& problem, int device) const override;
  bool on_device() const override {
    return std::ranges::any_of(variants_, [](const assay_variant& v) { return v.device_type == 2; });
  }
  bool chooses() const override { return choose_ != nullptr; }
  bool take_turns(void (*turn)(int)) const override {
    if (turns_) turns_(turn);
    return turns_ != nullptr;
  }

 protected:
  /// What a non-zero status of the last run on the calling thread means.
  virtual Said said_of(std::int32_t status) const;

 private:
  std::vector<assay_variant> variants_;
  void (*control_)(std::uint64_t schedule, std::int64_t max_blocks) = nullptr;
  void (*choose_)(const std::int64_t* rows, std::uint64_t count, std::int64_t per_block) = nullptr;
  void (*turns_)(void (*turn)(int)) = nullptr;
  const char* (*fault_)() = nullptr;  // why the last run on this thread did not return 0
  const char* (*fault_kind_)() = nullptr;
};

}  // namespace assay::isolation
