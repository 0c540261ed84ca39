// The subcommands of assay. Each sets up its options on the parser and returns the exit status: 0 every
// planned case passed, 1 a verdict failed, 2 the call or a file is wrong, 3 the environment lacks what was
// required, 4 assay check: right within limits that nobody declared. InputError becomes 2 in run_assay.
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

/// The whole command line; what main calls, and what tests call.
int run_assay(int argc, const char* const* argv);

void add_list_command(CLI::App& app, int& status);
void add_report_command(CLI::App& app, int& status);
void add_check_command(CLI::App& app, int& status);
void add_inputs_command(CLI::App& app, int& status);
void add_grade_command(CLI::App& app, int& status);
void add_sweep_command(CLI::App& app, int& status);
// What assay sweep has below it.
void add_sweep_oracle(CLI::App& sweep, int& status);
void add_sweep_launch(CLI::App& sweep, int& status);
void add_sweep_accesses(CLI::App& sweep, int& status);
void add_functions_command(CLI::App& app, int& status);
void add_utilisation_command(CLI::App& app, int& status);
void add_selftest_command(CLI::App& app, int& status);
void add_fuzz_command(CLI::App& app, int& status);
void add_replay_command(CLI::App& app, int& status);
void add_adapter_command(CLI::App& app, int& status);

}  // namespace assay
