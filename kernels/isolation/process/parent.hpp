// Who starts a worker process, and can say how it ended.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::isolation {

class Parent {
 public:
  virtual ~Parent() = default;
  /// Starts a worker in a process group of its own, with `socket` as descriptor 3 and `output` as standard
  /// output and error. 0 or an errno.
  virtual int start(int socket, int output, pid_t& pid) = 0;
  /// True if the worker has ended. Its number stays taken until `reap`.
  virtual bool exited(pid_t pid) = 0;
  /// True if the worker has ended: `status` is what waitpid gives, and the number is free again.
  virtual bool reap(pid_t pid, int& status) = 0;
  /// What messages call it.
  virtual std::string name() const = 0;
};

}  // namespace assay::isolation
