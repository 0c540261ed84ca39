// SPDX-License-Identifier: Apache-2.0
// The author's files that a file includes: found, and rewritten for the host executor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// The folders of -I. Quoted includes are searched for there, too.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& flags);

/// The file and the author's files that it includes by a name that stands in it: in quotes, or in <...> from
/// a folder of -I. A name that a macro gives is not among them, and of very many files only the first are.
/// Throws InputError.
std::map<std::filesystem::path, std::string> included_texts(
    const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders);

/// Such texts, each rewritten for the executor, and the names they get.
class Rewritten {
 public:
  Rewritten(std::filesystem::path folder, std::vector<std::filesystem::path> includes,
            const std::map<std::filesystem::path, std::string>& sources, std::filesystem::path headers)
      : folder_(std::move(folder)),
        includes_(std::move(includes)),
        sources_(sources),
        headers_(std::move(headers)) {}

  std::filesystem::path of(const std::filesystem::path& path);
  const std::map<std::filesystem::path, std::string>& texts() const { return texts_; }
  /// The author's file of each.
  const std::map<std::filesystem::path, std::filesystem::path>& originals() const { return originals_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> includes_;
  const std::map<std::filesystem::path, std::string>& sources_;
  std::filesystem::path headers_;
  std::map<std::filesystem::path, std::filesystem::path> done_, originals_;
  std::map<std::filesystem::path, std::string> texts_;
};

}  // namespace assay
