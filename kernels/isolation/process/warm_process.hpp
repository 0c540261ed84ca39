// SPDX-License-Identifier: Apache-2.0
// A process that has loaded what its workers need, and forks them. A new worker then costs only a fork.
//
// It never runs a launch itself. If it cannot be forked safely, or is gone, workers are started in another
// way.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/isolation/process/process.hpp"

namespace assay::isolation {

/// Measures how long a worker has worked, by the time that it could use. If somebody suspended the worker, or
/// a busy machine gave it no processor, it has done nothing wrong while the clock went on.
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

class WarmProcess : public Parent {
 public:
  /// `parent` starts it. Its workers run where it runs.
  explicit WarmProcess(std::shared_ptr<Parent> parent) : parent_(std::move(parent)) {}

  /// The first call starts it and gives it that long to load. False if workers must be started in another
  /// way.
  bool ready(const Process::Patience& patience);
  /// Why it is not ready, in words for people. Empty if it is ready or was not tried.
  std::string declines();
  /// Why each of its workers must load a part of what it needs. Empty if none does.
  std::string repeats();

  int start(int socket, int output, pid_t& pid) override;
  bool exited(pid_t pid) override;
  /// If a worker was lost together with this process, the status is that of an end by SIGKILL.
  bool reap(pid_t pid, int& status) override;
  std::string name() const override { return parent_->name(); }
  bool alone() const override { return parent_->alone(); }
  bool ended_with_it(pid_t pid) override;
  void expects_shared(pid_t pid, std::int64_t mib) override;

 private:
  template <class Answer, class Request>
  const Answer* ask(Request& request, const std::vector<int>& descriptors = {});
  void give_up(const std::string& why);
  pid_t worker_called(pid_t name) const;
  bool ended(pid_t pid, bool keep, int& status);

  const std::shared_ptr<Parent> parent_;
  std::mutex mutex_;
  bool tried_ = false;
  std::string declines_, repeats_;
  std::unique_ptr<Process> process_;
  Anything answer_;
  std::uint32_t sequence_ = 0;
  std::int64_t shared_ = 0;       // MiB: the most that one worker expects
  std::map<pid_t, pid_t> names_;  // how it calls its workers, which differs in a sandbox
};

}  // namespace assay::isolation
