// SPDX-License-Identifier: Apache-2.0
// The subcommands of assay. Each adds its options to the parser and sets the exit status. 0: every planned
// case passed. 1: a verdict failed. 2: the call or a file is wrong (run_assay turns InputError into 2). 3:
// the environment lacks what is required, or no output was judged. 4 (assay check): right within limits that
// nobody declared.
#pragma once

namespace CLI {
class App;
}

namespace assay {

inline constexpr int kPassed = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadCall = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kUndeclaredLimits = 4;

/// Runs a whole command line. Called by main and by tests.
int run_assay(int argc, const char* const* argv);
/// Every command with its options and its help. run_assay parses with them; completion and the manual page
/// are made from them.
void add_commands(CLI::App& app, int& status);

void add_list_command(CLI::App& app, int& status);
void add_report_command(CLI::App& app, int& status);
void add_check_command(CLI::App& app, int& status);
void add_adopt_command(CLI::App& app, int& status);
void add_verify_command(CLI::App& app, int& status);
void add_inputs_command(CLI::App& app, int& status);
void add_grade_command(CLI::App& app, int& status);
void add_sweep_command(CLI::App& app, int& status);
// The subcommands of assay sweep.
void add_sweep_oracle(CLI::App& sweep, int& status);
void add_sweep_launch(CLI::App& sweep, int& status);
void add_sweep_accesses(CLI::App& sweep, int& status);
void add_sweep_rules(CLI::App& sweep, int& status);
void add_sweep_split(CLI::App& sweep, int& status);
void add_functions_command(CLI::App& app, int& status);
void add_utilisation_command(CLI::App& app, int& status);
void add_selftest_command(CLI::App& app, int& status);
void add_fuzz_command(CLI::App& app, int& status);
void add_replay_command(CLI::App& app, int& status);
void add_page_command(CLI::App& app, int& status);
void add_history_command(CLI::App& app, int& status);
void add_merge_command(CLI::App& app, int& status);
void add_adapter_command(CLI::App& app, int& status);
void add_schema_command(CLI::App& app, int& status);
void add_completion_command(CLI::App& app, int& status);

}  // namespace assay
