// SPDX-License-Identifier: Apache-2.0
// A shared object as it was when it was opened: hashed, and copied to where nobody can change it. All workers
// load that, so what is judged is what the hash is of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace assay::isolation {

class OpenedFile {
 public:
  /// The same one for all that ask while it is in use. Throws InputError if it can not be read.
  static std::shared_ptr<const OpenedFile> of(const std::string& path);
  explicit OpenedFile(const std::string& path);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  /// Without symbolic links.
  const std::string& path() const { return path_; }
  const std::string& sha256() const { return sha256_; }
  bool has_copy() const { return copy_ >= 0; }
  /// A descriptor of the copy, at its beginning. The caller closes it. -1 if there is none.
  int open_copy() const;
  /// True if the path names another file now, or this one was written.
  bool changed() const;

 private:
  std::string path_, sha256_, identity_;
  int copy_ = -1;
};

}  // namespace assay::isolation
