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

}  // namespace assay
