// SPDX-License-Identifier: Apache-2.0
// Starts a worker process and can tell how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace assay::isolation {

class Parent {
 public:
  virtual ~Parent() = default;
  /// Starts a worker in a process group of its own. `socket` becomes its descriptor 3, `output` its standard
  /// output and error. Returns 0 or an errno.
  virtual int start(int socket, int output, pid_t& pid) = 0;
  /// True if the worker has ended. Its process id stays in use until `reap`.
  virtual bool exited(pid_t pid) = 0;
  /// True if the worker has ended. Then `status` is as from waitpid, and the process id is free again.
  virtual bool reap(pid_t pid, int& status) = 0;
  /// Why this parent has ended the worker itself. Empty if it has not. Call it before `reap`.
  virtual std::string ended_it(pid_t) { return {}; }
  /// True if its workers have a process namespace of their own, in which no other kernel can send them
  /// signals.
  virtual bool alone() const { return false; }
  /// True if the worker ended because what had started it was ended. Call it before `reap`.
  virtual bool ended_with_it(pid_t) { return false; }
  /// The buffers of this worker's launches may take this many MiB.
  virtual void expects_shared(pid_t, std::int64_t /*mib*/) {}
  /// True if its workers load the copy of an opened file, whatever its path names.
  virtual bool loads_copy() const { return false; }
  /// Its name in messages.
  virtual std::string name() const = 0;
};

}  // namespace assay::isolation
