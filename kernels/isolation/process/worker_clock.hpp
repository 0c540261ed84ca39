// How long a worker has been at it, by what it could use of the time: a worker that somebody suspended, or
// that a busy machine gave no processor, has done nothing wrong while the clock went on.
#pragma once

#include <sys/types.h>

namespace assay::isolation {

class WorkerClock {
 public:
  explicit WorkerClock(pid_t pid);

  struct Tick {
    double used = 0;       // of the elapsed seconds, those that it ran, or slept by its own choice
    bool stopped = false;  // all of it is stopped by a signal
  };
  /// What it made of the `elapsed` seconds since this was last called, as far as the kernel tells; all of
  /// them where it does not.
  Tick tick(double elapsed);

 private:
  pid_t pid_;
  double cpu_ = 0;  // seconds of processor time, all threads
};

}  // namespace assay::isolation
