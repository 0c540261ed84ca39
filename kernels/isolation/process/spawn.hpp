// Starting a worker process.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/process/parent.hpp"

namespace assay::isolation {

/// This executable answers to `worker`: its main has asked is_worker_call.
extern bool has_worker_verb;

/// How a worker is started: `assay worker 3`, or an interpreter that loads the worker's loop as a library.
struct Command {
  std::vector<std::string> words;  // the executable's path, its arguments
  int library = -1;                // the descriptor that it gets as kLibrary; none: -1
};

/// Runs the command for every worker, with an empty standard input and no blocked or ignored signals.
///
/// Workers ask the kernel to end them with their parent, and there "parent" is the thread that started them:
/// so all are started by one thread that lives as long as the process.
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
