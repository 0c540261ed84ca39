// SPDX-License-Identifier: Apache-2.0
// Files by name: while they are written, and before they are read.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "reference/error.hpp"

namespace assay {

// What everything that writes files needs: a name for the file while it is being written, and the error if it
// cannot be.

/// A name beside `file` that no other process has: "x.jsonl.4f1a90c2b7d35e68.part". Process numbers would not
/// do: two containers that share a folder have equal ones.
std::filesystem::path unique_part(const std::filesystem::path& file);

/// Throws the error of a write that failed with this errno: EnvironmentError (exit status 3) where the
/// machine has no more room, InputError otherwise.
[[noreturn]] void throw_unwritten(const std::filesystem::path& file, int why);

// A file that somebody names, or that lies in somebody's folder, before it is read.

/// Throws InputError if it is not there, is a folder, or has no end (a device) or no beginning (a pipe that
/// nobody writes to). A pipe of the shell, "<(command)", is read: it is named in /dev/fd.
inline void require_file(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto is = std::filesystem::status(file, ignored);
  if (!std::filesystem::exists(is)) throw InputError(file.string() + ": no such file");
  if (std::filesystem::is_directory(is)) throw InputError(file.string() + ": is a folder");
  const std::string path = file.string();
  if (!std::filesystem::is_regular_file(is) && !path.starts_with("/dev/fd/") && path != "/dev/stdin")
    throw InputError(path + ": is no regular file");
}

}  // namespace assay
