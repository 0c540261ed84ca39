// SPDX-License-Identifier: Apache-2.0
// Which flags of a compiler may come from a file. A certificate, a case, a record or a configuration is data
// that somebody else wrote: it may say what is compiled, but not which program runs, and not what is read or
// written elsewhere. What the user types is not restricted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// Empty if the compiler may be given all these words, or one line that names the first that it may not.
///
/// Allowed are -D, -U, -I, -isystem and -include, the architecture, the standard, optimisation, the
/// arithmetic, and what changes messages or debug information. A path must be relative and lie in `folder`,
/// from which the compiler runs, also where it leads through links. Everything else is refused, because nvcc
/// has some two hundred options, and one names a program to run (-ccbin), another a file to write (-o),
/// another more options (@file). nvcc hands its arguments to a shell, so -D and paths hold plain characters
/// only.
std::string refused_flag(const std::vector<std::string>& words, const std::filesystem::path& folder);

/// The same of a line, as --nvcc-flags takes it. A quote that is not closed is refused.
std::string refused_flag(const std::string& line, const std::filesystem::path& folder);

}  // namespace assay
