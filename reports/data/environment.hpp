// SPDX-License-Identifier: Apache-2.0
// Where, and with which program, a report was made.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Label and value pairs: version, commit, machine, compiler, flags, GPU.
std::vector<std::pair<std::string, std::string>> environment();

/// Now: "2026-11-25T16:00:00Z".
std::string utc_now();

/// The pair that says what holds kernels of workers: "bubblewrap", "Landlock and seccomp (bwrap: it is not
/// installed)", "none: --no-sandbox".
std::pair<std::string, std::string> sandbox_of_workers();
/// Says in that pair that some groups of cases ran kernels outside of a sandbox. Not if there was none
/// anyway.
void say_not_sandboxed(std::vector<std::pair<std::string, std::string>>& environment,
                       const std::set<std::string>& groups);
/// Why such kernels ran without a sandbox. Empty if they ran in one, or nothing is said of it.
std::string not_sandboxed(const std::vector<std::pair<std::string, std::string>>& environment);

/// What held the kernel of a record, in a word or two, by its member `where`: "bubblewrap", "Landlock", "not
/// sandboxed". Empty of a kernel that ran in the judge's process.
std::string guard_words(const std::string& where);

}  // namespace assay
