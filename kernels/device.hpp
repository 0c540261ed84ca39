// SPDX-License-Identifier: Apache-2.0
// The GPU that this process can use, if any. Works in a build without CUDA and on a machine without a driver.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Empty if the backend can run here, otherwise the reason ("no GPU: ...", "this CPU has no FMA").
std::string unavailable_reason(Backend backend);

/// Empty if a build for these architectures (those of CMAKE_CUDA_ARCHITECTURES: "90", "90-real,100") has code
/// for a GPU of this compute capability, otherwise the reason. "90" is machine code for 9.x, and PTX that
/// newer ones compile.
std::string no_code_reason(const std::string& architectures, int major, int minor);

/// True if the CUDA side was compiled in.
bool built_with_cuda();

/// Makes the selected device's context, if there is a device: that takes longer than most launches.
void prepare_device();

/// Pairs of label and value: GPU, driver, runtime, clocks, memory. Empty without a GPU.
std::vector<std::pair<std::string, std::string>> describe_device();

/// Selects the CUDA device of this ordinal for later launches. Returns an error sentence, or empty.
std::string select_device(int ordinal);
int selected_device();
/// A name of the selected device that is the same in every process on this machine; empty without a device.
std::string device_identity();
/// Number of CUDA devices that this process can select; 0 without CUDA.
int device_count();

/// Allows one check at a time on one GPU. It is an advisory lock on a file with the device's name in /tmp,
/// whatever $TMPDIR says. It holds among the processes that share that folder, and ends with its process. Who
/// comes first is served first: a process that waits holds one of a row of places, each a file, and moves on
/// when the place before it is free. Only one process waits for a place. The last place is an exception, when
/// all are taken. A process that is stopped while it waits keeps those behind it waiting.
class DeviceLock {
 public:
  static constexpr int kPlaces = 16;
  /// Waits until no other process holds the lock of this device. If it must wait, it first calls `waits`
  /// once. If the file cannot be created there is no lock, and held() is false.
  DeviceLock(const std::string& device, const std::function<void()>& waits,
             const std::filesystem::path& folder = "/tmp");
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  bool held() const { return held_; }

 private:
  int file_ = -1;  // the device's own: the first place
  bool held_ = false;
};

}  // namespace assay
