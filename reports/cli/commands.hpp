// SPDX-License-Identifier: Apache-2.0
// The subcommands of assay. Each adds its options to the parser and sets the exit status. 0: every planned
// case passed. 1: a verdict failed. 2: the call or a file is wrong (run_assay turns InputError into 2). 3:
// the environment lacks what is required, or no output was judged. 4 (assay check): right within limits that
// nobody declared.
#pragma once

#include <string>
#include <vector>

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

/// A command. Its file defines one, with a line in ASSAY_COMMANDS; help, completion, the manual page and the
/// tests of the documents take it from there.
struct Command {
  const char* path;  // "sweep page"; empty for assay itself
  /// Adds it with its options to the command that it is below.
  void (*add)(CLI::App& above, int& status);
  std::vector<const char*> statuses;
  /// Whole command lines, at least two. reports/cli/help/usage_test.cpp runs the cheap ones and parses all.
  std::vector<const char*> examples;
};

inline constexpr const char* kBadCallText = "2  the call or a file is wrong: one line says what";
inline constexpr const char* kNoGpuText = "3  the machine lacks what was asked for: no GPU, no memory";

// Every command, in the order of the help. One that has others below it comes before them.
// clang-format off
#define ASSAY_COMMANDS(COMMAND) \
  COMMAND(list) \
  COMMAND(report) \
  COMMAND(check) \
  COMMAND(adopt) \
  COMMAND(verify) \
  COMMAND(inputs) \
  COMMAND(grade) \
  COMMAND(coq) \
  COMMAND(sweep) \
  COMMAND(sweep_page) \
  COMMAND(sweep_oracle) \
  COMMAND(sweep_launch) \
  COMMAND(sweep_accesses) \
  COMMAND(sweep_rules) \
  COMMAND(sweep_split) \
  COMMAND(functions) \
  COMMAND(utilisation) \
  COMMAND(selftest) \
  COMMAND(fuzz) \
  COMMAND(replay) \
  COMMAND(page) \
  COMMAND(history) \
  COMMAND(merge) \
  COMMAND(serve) \
  COMMAND(adapter) \
  COMMAND(schema) \
  COMMAND(completion)
// clang-format on

#define ASSAY_DECLARE_COMMAND(name) extern const Command name##_command;
ASSAY_COMMANDS(ASSAY_DECLARE_COMMAND)
#undef ASSAY_DECLARE_COMMAND

/// assay itself, then all commands in the order above.
std::vector<const Command*> all_commands();
/// The one of this path; null if there is none.
const Command* command_of(const std::string& path);

}  // namespace assay
