// SPDX-License-Identifier: Apache-2.0
// The environment of a program that runs or compiles what somebody else wrote. This process's own may hold
// secrets (tokens of a CI, passwords) and settings that change what is made. So such a program gets a list,
// and nothing that is not on it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::isolation {

/// What any program may know: where programs are, where files may go, and how text is written.
inline constexpr std::string_view kUsualVariables[] = {"PATH", "HOME", "TMPDIR", "LANG", "LC_*", "TZ"};
/// Where CUDA is.
inline constexpr std::string_view kCudaVariables[] = {"CUDA_HOME", "CUDA_PATH"};

/// What a user has this program pass to kernels, too: "NAME,NAME,PREFIX*".
inline constexpr const char* kKeepVariable = "ASSAY_KEEP_ENV";
/// The names in kKeepVariable.
std::vector<std::string> names_to_keep();
/// NAME=VALUE of all that a process that runs a kernel gets: the usual ones, those by which CUDA, Python, the
/// frameworks and the sanitizers are set, and names_to_keep().
std::vector<std::string> environment_of_kernels();

/// NAME=VALUE of each variable that is set and has one of these names; "LC_*" is each that begins with LC_.
/// In the order of the names, then of the environment.
std::vector<std::string> kept_environment(std::span<const std::string_view> names);

}  // namespace assay::isolation
