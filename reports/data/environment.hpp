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

/// The pair that says whether kernels of workers run in a sandbox.
std::pair<std::string, std::string> sandbox_of_workers();
/// Says in that pair that some groups of cases ran kernels outside of a sandbox. Not if there was none
/// anyway.
void say_not_sandboxed(std::vector<std::pair<std::string, std::string>>& environment,
                       const std::set<std::string>& groups);
/// Why such kernels ran without a sandbox. Empty if they ran in one, or nothing is said of it.
std::string not_sandboxed(const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace assay
