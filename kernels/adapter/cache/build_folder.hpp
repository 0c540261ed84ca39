// SPDX-License-Identifier: Apache-2.0
// The folder in which files are compiled: where it is, what is written there, and the names that are made
// from contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// The contents of a file. Throws InputError if the file does not exist or cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Writes the whole file or nothing, even if two processes write it at once.
void write_text(const std::filesystem::path& path, std::string_view text);

/// A fingerprint of the texts given to it: 128 bits in hexadecimal, from two FNV-1a hashes with different
/// bases.
class Fingerprint {
 public:
  Fingerprint& operator<<(std::string_view text) {
    for (const char c : text) {
      a_ = (a_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      b_ = (b_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
    }
    a_ = (a_ ^ 0x100) * 0x100000001b3u;  // so that it matters where one text ends
    b_ = (b_ ^ 0x100) * 0x100000001b3u;
    return *this;
  }
  std::string text() const {
    std::string s;
    for (const std::uint64_t x : {a_, b_})
      for (int i = 60; i >= 0; i -= 4) s += "0123456789abcdef"[x >> i & 15];
    return s;
  }

 private:
  std::uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

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

/// Writes the project's own files under the names by which they are included: kernels/..., and the public
/// ones also as assay/... Returns their folder.
std::filesystem::path write_headers(const std::filesystem::path& build);

}  // namespace assay
