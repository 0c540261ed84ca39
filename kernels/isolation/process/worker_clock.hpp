// SPDX-License-Identifier: Apache-2.0
// Measures how long a worker has worked, by the time that it could use. If somebody suspended the worker, or
// a busy machine gave it no processor, it has done nothing wrong while the clock went on.
#pragma once

#include <sys/types.h>

#include <optional>

namespace assay::isolation {

class WorkerClock {
 public:
  explicit WorkerClock(pid_t pid);

  struct Tick {
    double used = 0;       // seconds of `elapsed` in which it ran, or slept by its own choice
    bool stopped = false;  // a signal or a debugger has stopped all of its threads
    bool traced = false;   // a debugger has stopped one of them
  };
  /// How it used the `elapsed` seconds since the last call. If the operating system does not tell, all of
  /// them count as used.
  Tick tick(double elapsed);

  /// Processor seconds of all threads of a process until now. Empty if the operating system does not tell.
  static std::optional<double> processor_seconds(pid_t pid);

 private:
  pid_t pid_;
  double cpu_ = 0;  // processor seconds of all threads
};

}  // namespace assay::isolation
