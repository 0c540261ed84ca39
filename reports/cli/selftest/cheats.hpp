// SPDX-License-Identifier: Apache-2.0
// assay selftest --cheats: tries every cheat of reports/cheats against this program.
#pragma once

#include <string>

#include "reports/cli/run_frame.hpp"

namespace assay {

/// Runs the cheat of this name under its guards that work here; all of them if `name` is empty. Writes
/// cheats.jsonl into --out. Returns the exit status: 1 if one did not get the answer that its table expects,
/// 3 if none could run. Throws InputError if no cheat has the name.
int run_cheats_command(const std::string& name, const FrameOptions& options);
/// Prints their names and what they do.
void list_cheats();

}  // namespace assay
