// SPDX-License-Identifier: Apache-2.0
// One worker process, as its supervisor sees it. The supervisor starts it, exchanges messages with it under a
// deadline, ends it, and asks how it died.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/isolation/process/spawn.hpp"
#include "kernels/isolation/shared/channel.hpp"
#include "kernels/isolation/shared/memory_limit.hpp"

namespace assay::isolation {

/// Finds the executable whose `worker` verb is run. It is `wanted`, $ASSAY_WORKER, this executable if it has
/// the verb, or the `assay` built beside it. Throws InputError if there is none.
std::string worker_executable(const std::string& wanted);

class Process {
 public:
  /// Starts a worker. Throws std::system_error.
  explicit Process(std::shared_ptr<Parent> parent);
  /// Ends the worker and everything that it has started.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class Message>
  bool send(const Message& m, std::span<const int> descriptors = {}) {
    return isolation::send(socket_, m, descriptors);
  }

  struct Patience {
    double seconds = 0;  // of the worker's own time, as WorkerClock counts it
    double at_most = 0;  // seconds by the wall clock
    /// For a device: the share of its time, since the last call, that a worker could have had, 0 to 1. It is
    /// called only in waits that are longer than usual. If null, the share is 1.
    std::function<double()> share = {};
    /// At every tick: why the worker must not go on, or empty.
    std::function<std::string()> excess = {};
  };
  enum class Heard {
    message,
    late,       // it has used all its seconds
    suspended,  // a signal had stopped it for kStoppedSeconds, or a debugger for all its seconds
    starved,    // it got too little time on a processor or the device
    excessive,  // Patience::excess gave a reason
    gone
  };
  /// A signal that stops a process may come from a user who lets it go on at once. It is waited no longer.
  static constexpr double kStoppedSeconds = 2;
  /// Waits for the next message of any kind except `signal`, which is kept for `death`. A handler reports
  /// each of its four signals once. What comes after that is a message of the kernel's own. `used`: set to
  /// the seconds of the worker's own time until a message came, to within a tenth of a second.
  Heard hear(Anything& into, long& length, const Patience& patience, double* used = nullptr);

  /// Ends the worker if it still runs, and says in words how it ended: "segmentation fault", "exited with
  /// status 3". What it printed last is not part of this.
  std::string death();
  pid_t pid() const { return pid_; }
  void expects_shared(std::int64_t mib) { parent_->expects_shared(pid_, mib); }
  /// Call it after `death`. True if a signal ended it that anybody may send, and no supervisor here sent it.
  bool killed() const;
  /// Call it after `death`, or after `suspended`. True if it was killed or stopped by a signal that the
  /// kernel itself may have sent: the operating system had memory enough, no debugger had stopped the worker,
  /// and what had started it was not ended.
  bool unexplained() const;
  /// The signal that ended it: "signal 9 (Killed)".
  std::string killer() const;
  /// True if no other kernel can have sent it a signal.
  bool alone() const { return parent_->alone(); }
  /// How it ended, as a kind. Call it after death().
  FaultKind death_kind() const;
  /// The worker's last signal, if its signal handler could report it.
  const std::optional<Signal>& signal() const { return signal_; }
  /// The last lines that it printed, in quotes after ": ", or empty if it printed nothing.
  std::string last_words();

 private:
  void drain();
  void end();
  bool exited() const { return parent_->exited(pid_); }

  const std::shared_ptr<Parent> parent_;
  pid_t pid_ = -1;
  int socket_ = -1;
  int output_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string ended_it_;      // why its parent has ended it
  bool outlived_ = false;     // it closed its end of the socket but ran on
  bool with_parent_ = false;  // what had started it was ended
  bool halted_ = false;       // a signal had stopped it, and no debugger
  int signals_ = 0;           // messages `signal` that it sent
  std::optional<std::int64_t> memory_kills_ = memory_kills();
  bool printing_ = true;  // its standard output is still open
  std::string printed_;   // the last few thousand bytes
  std::optional<Signal> signal_;
};

}  // namespace assay::isolation
