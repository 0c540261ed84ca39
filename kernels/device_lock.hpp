// SPDX-License-Identifier: Apache-2.0
// Allows one check at a time on one GPU. It is an advisory lock on a file with the device's name in /tmp,
// whatever $TMPDIR says. It holds among the processes that share that folder, and ends with its process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace assay {

class DeviceLock {
 public:
  /// Waits until no other process holds the lock of this device. If it must wait, it first calls `waits`
  /// once. If the file cannot be created there is no lock, and held() is false.
  DeviceLock(const std::string& device, const std::function<void()>& waits,
             const std::filesystem::path& folder = "/tmp");
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  bool held() const { return held_; }

 private:
  int file_ = -1;
  bool held_ = false;
};

}  // namespace assay
