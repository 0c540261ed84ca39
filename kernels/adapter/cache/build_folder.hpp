// SPDX-License-Identifier: Apache-2.0
// The folder in which files are compiled: where it is, what is written there, and the names that are made
// from contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A file and its SHA-256, and the files of the system, whose hashes are remembered.
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

/// The contents of a file. Throws InputError if the file does not exist or cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Writes the whole file or nothing, even if two processes write it at once.
void write_text(const std::filesystem::path& path, std::string_view text);

/// The folder that was asked for, or the default one if `asked` is empty. Throws InputError if it is not
/// writable.
std::filesystem::path build_folder(const std::string& asked);

/// Marks a file or folder of the build folder as used now.
void note_use(const std::filesystem::path& path);

/// The bytes that the default build folder may hold: ASSAY_CACHE_MB in the environment, or 2 GB. Throws
/// InputError.
std::uintmax_t cache_limit();

/// Removes what was used longest ago, until the folder holds no more than `most` bytes. What was used within
/// the last hour stays, because another process may be about to use it.
void evict_old(const std::filesystem::path& folder, std::uintmax_t most);

/// SHA-256 of the project's own files: their names and contents.
const std::string& embedded_sha256();

/// A name for a file, made from any other: it means nothing to a shell. (nvcc hands its arguments to one.)
std::string plain_name(std::string_view name);

/// Writes the project's own files under the names by which they are included: kernels/..., and the public
/// ones also as assay/... What is there already is compared, and written again if it differs. Returns their
/// folder.
std::filesystem::path write_headers(const std::filesystem::path& build);

/// What was built, kept with the SHA-256 of its bytes. A build is taken from the cache only if its bytes are
/// those that the compiler wrote, and all that went into it is what it was.
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
