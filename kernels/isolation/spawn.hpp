// Starting a worker process.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::isolation {

/// This executable answers to `worker`: its main has asked is_worker_call.
extern bool has_worker_verb;

/// Runs `executable worker 3` in a process group of its own, with `socket` as descriptor 3, `output` as
/// standard output and error, an empty standard input, and no blocked or ignored signals. 0 or an errno.
///
/// Workers ask the kernel to end them with their parent, and there "parent" is the thread that started them:
/// so all are started by one thread that lives as long as the process.
int spawn_worker(const std::string& executable, int socket, int output, pid_t& pid);

}  // namespace assay::isolation
