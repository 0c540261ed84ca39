// SPDX-License-Identifier: Apache-2.0
// Starts a worker process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/process/opened_file.hpp"
#include "kernels/isolation/process/parent.hpp"

namespace assay::isolation {

/// True if this executable has the verb `worker`: its main has called is_worker_call.
extern bool has_worker_verb;

/// How to start a worker: `assay worker 3`, or an interpreter that loads the worker's loop as a library.
struct Command {
  std::vector<std::string> words;  // the path of the executable, then its arguments
  int library = -1;                // a descriptor that it gets as kLibrary, or -1
  int warden = -1;                 // a descriptor that it gets as kWarden, or -1
  int executable = -1;             // a descriptor that it gets as kWardenExecutable, or -1
  int copy = -1;                   // a descriptor that bwrap gets as kCopy, or -1
  /// The shared object that the worker loads.
  std::shared_ptr<const OpenedFile> opened = {};
  /// Added to its environment: names and values.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// The executable to run as a sandbox's warden: this one, or the `assay` built beside it. `worker` if there
/// is none.
std::string warden_executable(const std::string& worker);

/// Runs the command with an empty standard input and no blocked or ignored signals, in a process group of its
/// own. Returns 0 or an errno.
int spawn(const Command& command, int socket, int output, pid_t& pid);

/// Runs the command for every worker.
///
/// A worker asks the operating system to end it together with its parent, and there "parent" means the thread
/// that started it. So one thread, which lives as long as the process, starts all workers.
class Spawner : public Parent {
 public:
  explicit Spawner(Command command) : command_(std::move(command)) {}
  int start(int socket, int output, pid_t& pid) override;
  bool exited(pid_t pid) override;
  bool reap(pid_t pid, int& status) override;
  std::string name() const override { return command_.words[0]; }

 private:
  const Command command_;
};

}  // namespace assay::isolation
