// SPDX-License-Identifier: Apache-2.0
// NCCL, loaded at run time. The build needs nothing of it. Without the library, nccl_missing() says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

/// Empty if NCCL can be called here, otherwise the reason: "no libnccl.so.2 is found". If the loader does not
/// find the library, ASSAY_NCCL can name the file.
std::string nccl_missing();
/// "2.28.3"; call it and what follows only if nccl_missing() is empty.
std::string nccl_version();

/// The GPUs of this process that talk to each other. All functions throw std::runtime_error with NCCL's
/// message.
class NcclTeam {
 public:
  explicit NcclTeam(const std::vector<int>& devices);
  NcclTeam(const NcclTeam&) = delete;
  NcclTeam& operator=(const NcclTeam&) = delete;
  ~NcclTeam();

  /// Every GPU i has `floats` floats at all[i] + i x floats; afterwards every GPU has those of all GPUs. It
  /// happens in the order of the GPUs' streams, and can be captured into one graph a GPU.
  void all_gather(const std::vector<float*>& all, std::size_t floats,
                  const std::vector<void*>& streams) const;

 private:
  std::vector<void*> members_;
};

}  // namespace assay
