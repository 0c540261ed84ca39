// SPDX-License-Identifier: Apache-2.0
// A file and its SHA-256, and the files of the system, whose hashes are remembered.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

struct HashedFile {
  std::string path, sha256;
  bool operator==(const HashedFile&) const = default;
};

/// Hashes of what is installed on this machine: compilers, the headers and libraries of the system. They are
/// hundreds of megabytes, and change when somebody installs something. So a hash is remembered together with
/// what the file system says of the file: its device, number, size, and the times when its contents and its
/// entry changed. Nobody can set the last one.
class SystemHashes {
 public:
  /// Reads what is remembered in this folder.
  explicit SystemHashes(std::filesystem::path folder);
  /// Throws InputError if the file is no file, or cannot be read.
  std::string of(const std::filesystem::path& file);
  /// Writes what is new.
  void remember();

 private:
  std::filesystem::path file_;
  struct Known {
    std::string state, sha256;  // state: what the file system says
  };
  std::map<std::string, Known> known_;  // by path
  bool more_ = false;
};

}  // namespace assay
