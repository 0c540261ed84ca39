// What a compiler's log says to the author of a kernel: one line wherever one is enough.
#pragma once

#include <set>
#include <string>

namespace assay {

/// The first error of a log, its place and its message; how many more there are. Empty where the log has
/// none.
std::string first_error(const std::string& log);

/// True where the first error is in the adapter: in how the entry is called, not in the author's file.
bool in_adapter(const std::string& log);

/// Why there is no such function, where macros are at work: its name is one, or one makes names by ##. Empty
/// where neither is so. `texts` and `source` as below.
std::string behind_macro(const std::string& function, const std::string& source,
                         const std::set<std::string>& texts);

/// What the host executor does not speak, with its place: "my.cu:7:3: unsupported: executor: __viadd ...".
/// Empty where nothing of the log is about that.
std::string unspoken(const std::string& log);

/// Why `function` cannot be called as --entry says, if that is the first error of the log: another number of
/// arguments, a name of a namespace or a class, other types. `texts`: the sources, as far as they are the
/// author's; `source`: what the first of them is called; `log_path`: where the rest can be read. Empty where
/// the first error is in the sources themselves.
std::string misfit(const std::string& log, const std::string& function, const std::string& source,
                   const std::set<std::string>& texts, const std::string& log_path);

}  // namespace assay
