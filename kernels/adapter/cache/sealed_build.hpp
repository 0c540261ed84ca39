// SPDX-License-Identifier: Apache-2.0
// What was built, kept with the SHA-256 of its bytes. A build is taken from the cache only if its bytes are
// those that the compiler wrote, and all that went into it is what it was.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/cache/hashed_file.hpp"

namespace assay {

struct SealedBuild {
  std::filesystem::path path;  // the file that was built
  std::string sha256;          // of its bytes
  std::vector<HashedFile>
      read;               // what the tools read, and nobody knew before: libraries, headers of the system
  std::string note = {};  // one line about it
};

/// A place in the build folder for one build: a folder with the file and its seal. `key`: SHA-256 of all that
/// is known before it is built.
class BuildPlace {
 public:
  /// `stem` begins the folder's name, `suffix` ends the file's.
  BuildPlace(const std::filesystem::path& folder, std::string_view stem, std::string key, std::string suffix);

  const std::filesystem::path& folder() const { return folder_; }

  /// What was built here with this key, if all of it is unchanged. `changed` gets one line if the built file
  /// is not what was written, and stays empty if nothing was built here or something that it was built from
  /// has changed.
  std::optional<SealedBuild> find(SystemHashes& hashes, std::string& changed) const;

  /// Moves the file `part` here and seals it.
  SealedBuild keep(const std::filesystem::path& part, std::vector<HashedFile> read,
                   const std::string& note = {}) const;

 private:
  std::filesystem::path folder_;
  std::string key_, suffix_;
};

}  // namespace assay
