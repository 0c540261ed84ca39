// Starting a worker process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace assay::isolation {

/// This executable answers to `worker`: its main has asked is_worker_call.
extern bool has_worker_verb;

/// How a worker is started: `assay worker 3`, or an interpreter that loads the worker's loop as a library.
struct Command {
  std::vector<std::string> words;  // the executable's path, its arguments
  int library = -1;                // the descriptor that it gets as kLibrary; none: -1
};

/// Runs the command in a process group of its own, with `socket` as descriptor 3, `output` as standard output
/// and error, an empty standard input, and no blocked or ignored signals. 0 or an errno.
///
/// Workers ask the kernel to end them with their parent, and there "parent" is the thread that started them:
/// so all are started by one thread that lives as long as the process.
int spawn_worker(const Command& command, int socket, int output, pid_t& pid);

}  // namespace assay::isolation
