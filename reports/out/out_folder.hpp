// SPDX-License-Identifier: Apache-2.0
// The folder of --out while a run writes to it. Two runs must not mix their files there: the second one
// stops.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace assay {

/// A lock on a file, held by this process until the object or the process ends. The file is removed with the
/// lock; one that a killed process left behind is held by nobody.
class FileLock {
 public:
  /// Does not wait. Throws InputError if another process, or another object here, holds the lock; the message
  /// begins with `what` and says who.
  FileLock(std::filesystem::path file, const std::string& what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

class OutFolder {
 public:
  /// Makes the folder, checks that it can be written, and locks it. Throws InputError.
  explicit OutFolder(std::filesystem::path folder);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;
};

}  // namespace assay
