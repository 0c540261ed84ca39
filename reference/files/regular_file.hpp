// SPDX-License-Identifier: Apache-2.0
// A file that somebody names, or that lies in somebody's folder, before it is read.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "reference/error.hpp"

namespace assay {

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
