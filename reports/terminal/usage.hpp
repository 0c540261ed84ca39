// SPDX-License-Identifier: Apache-2.0
// What --help says beside the options: the exit statuses of a command, and examples of it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace assay {

struct Usage {
  const char* command;  // "sweep page"; empty for assay itself
  std::vector<const char*> statuses;
  /// Whole command lines, at least two. reports/cli/help/usage_test.cpp runs the cheap ones and parses all.
  std::vector<const char*> examples;
};

/// One entry a command.
std::span<const Usage> usages();

/// The entry of a command; null if there is none.
const Usage* usage_of(const std::string& command);

/// Puts statuses and examples of every command, and of those below it, in front of what its help ends with.
void add_usage(CLI::App& app);

}  // namespace assay
