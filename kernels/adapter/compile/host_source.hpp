// SPDX-License-Identifier: Apache-2.0
// Turns an unedited CUDA file into C++ for the host executor. Launches, shared memory and includes become
// calls of kernels/adapter/host_runtime.hpp. Everything else stays as it is, line by line, so that a fault
// names the author's own lines. A word that the executor does not support becomes an error in its place. The
// preprocessor sees that error only if the code is live.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay {

/// The message of every error for an unsupported word begins with this.
inline constexpr const char* kNotExecutable = "unsupported: executor: ";

/// Called for `#include "name"` and, not quoted, `#include <name>`. Returns the file to include instead, or
/// empty to leave the line as it is.
using IncludeResolver = std::function<std::string(std::string_view name, bool quoted)>;

/// `path` is the file's name in messages and in #line.
std::string host_source(std::string_view source, std::string_view path, const IncludeResolver& resolve);

}  // namespace assay
