// SPDX-License-Identifier: Apache-2.0
// The files that a file includes with quotes: found, fingerprinted, and rewritten for the host executor.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"

namespace assay {

/// The folders of -I. Quoted includes are searched for there, too.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& flags);

/// A file and the files that it includes with quotes, each rewritten for the executor, and the names they
/// get.
class Rewritten {
 public:
  Rewritten(std::filesystem::path folder, std::vector<std::filesystem::path> includes)
      : folder_(std::move(folder)), includes_(std::move(includes)) {}

  std::filesystem::path of(const std::filesystem::path& path);
  const std::map<std::filesystem::path, std::string>& texts() const { return texts_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> includes_;
  std::map<std::filesystem::path, std::filesystem::path> done_;
  std::map<std::filesystem::path, std::string> texts_;
};

/// Adds the contents of a file and of the files that it includes with quotes.
void add_contents(Fingerprint& f, const std::filesystem::path& path,
                  const std::vector<std::filesystem::path>& folders, std::set<std::filesystem::path>& seen);

}  // namespace assay
