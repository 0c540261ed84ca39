// A process that has loaded what its workers need, and forks them: a new worker costs a fork.
//
// It runs nothing of a launch. Where it can not be forked safely, or is gone, workers are started otherwise.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/isolation/process/process.hpp"

namespace assay::isolation {

class WarmProcess : public Parent {
 public:
  explicit WarmProcess(const Command& command) : command_(command) {}

  /// Starts it at the first call, with so much time to load. False: workers must be started otherwise.
  bool ready(const Process::Patience& patience);
  /// Why it is not ready, for people; empty if it is, or was not tried.
  std::string declines();
  /// Why each of its workers loads a part of what it needs; empty: none does.
  std::string repeats();

  int start(int socket, int output, pid_t& pid) override;
  bool exited(pid_t pid) override;
  /// Of a worker that was lost with this process: as ended by SIGKILL.
  bool reap(pid_t pid, int& status) override;
  std::string name() const override { return command_.words[0]; }

 private:
  template <class Answer, class Request>
  const Answer* ask(Request& request, const std::vector<int>& descriptors = {});
  void give_up(const std::string& why);
  bool is_worker(pid_t pid) const;
  bool ended(pid_t pid, bool keep, int& status);

  const Command command_;
  std::mutex mutex_;
  bool tried_ = false;
  std::string declines_, repeats_;
  std::unique_ptr<Process> process_;
  Anything answer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace assay::isolation
