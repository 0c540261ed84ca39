// One check at a time on one GPU: an advisory lock, a file by the device's name in /tmp, whatever $TMPDIR
// says. It holds among the processes that share that folder, and goes with its process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace assay {

class DeviceLock {
 public:
  /// Waits until no other process has the lock of this device; `waits` is called once, before it waits. Where
  /// no such file can be had there is no lock: `held` says so.
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
