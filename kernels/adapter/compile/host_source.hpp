// A CUDA file, unedited, as C++ for the host executor: launches, shared memory and includes become calls of
// kernels/adapter/host_runtime.hpp, everything else stays as it is, line by line, so that a fault names the
// author's own lines. What the executor does not speak becomes an error in the place where it stands, which
// the preprocessor sees only if that code is live.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay {

/// Begins the message of every error that the executor's limits put into a rewritten file.
inline constexpr const char* kNotExecutable = "unsupported: executor: ";

/// Called for `#include "name"`: the file to include in its place; empty to leave the line alone.
using IncludeResolver = std::function<std::string(std::string_view name)>;

/// `path` is what messages and #line call the file.
std::string host_source(std::string_view source, std::string_view path, const IncludeResolver& resolve);

}  // namespace assay
