// SPDX-License-Identifier: Apache-2.0
// Turns a compiler's log into what the author of a kernel needs: one line wherever one is enough.
#pragma once

#include <set>
#include <string>

namespace assay {

/// The first error of a log with its place and message, and how many more there are. Empty if the log has no
/// error.
std::string first_error(const std::string& log);

/// True if the first error is in the adapter. Then the call of the entry is wrong, and not the author's file.
bool in_adapter(const std::string& log);

struct BehindMacro {
  std::string why;      // empty: macros are not the reason
  bool itself = false;  // the name is a macro's; otherwise a macro makes names with ##
};
/// Why a function of this name is not found. `texts` and `source` are as below.
BehindMacro behind_macro(const std::string& function, const std::string& source,
                         const std::set<std::string>& texts);

/// What the host executor does not support, with its place: "my.cu:7:3: unsupported: executor: __viadd ...".
/// Empty if the log says nothing of that kind.
std::string unspoken(const std::string& log);

/// Why `function` cannot be called as --entry says, if that is the first error of the log. Reasons are a
/// different number of arguments, a name that lacks its namespace or class, or other types. `texts`: the
/// author's sources. `source`: the name of the first of them. `log_path`: where the rest can be read. Empty
/// if the first error is in the sources themselves.
std::string misfit(const std::string& log, const std::string& function, const std::string& source,
                   const std::set<std::string>& texts, const std::string& log_path);

}  // namespace assay
