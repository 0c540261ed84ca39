// SPDX-License-Identifier: Apache-2.0
// Starts a program: workers, compilers, tools, and the parts of a run.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::isolation {

/// A program, and what it does not share with the process that starts it. Its standard input is /dev/null.
struct Child {
  std::vector<std::string> words;  // its path, or its name in PATH, then its arguments
  std::string program = {};        // its path, if the first word is not that
  std::optional<std::vector<std::string>> environment = {};  // NAME=VALUE; none: that of this process
  std::vector<std::pair<int, int>> descriptors = {};         // one of this process, and what it is there
  bool apart = false;   // it leads a process group, and no signal is blocked or ignored
  int with_parent = 0;  // the signal that it gets when the thread that starts it ends; 0: none
  std::vector<std::pair<__rlimit_resource, rlim_t>> limits = {};
};

/// Starts it. Returns 0, or an errno if it cannot be started.
int start(const Child& child, pid_t& pid);

/// Waits until it has ended. Returns its exit status, or 128 + the signal that ended it; -1 if it is no child
/// of this process.
int status_of(pid_t pid);

}  // namespace assay::isolation
