// One worker process as its supervisor holds it: started, spoken to under a deadline, ended, and asked how it
// died.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/isolation/process/spawn.hpp"
#include "kernels/isolation/shared/channel.hpp"

namespace assay::isolation {

/// The executable whose `worker` verb is run: `wanted`, $ASSAY_WORKER, this executable if it has the verb, or
/// the `assay` built beside it. Throws InputError if there is none.
std::string worker_executable(const std::string& wanted);

class Process {
 public:
  /// Has a worker started. Throws std::system_error.
  explicit Process(std::shared_ptr<Parent> parent);
  /// Ends the worker and what it has started.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class Message>
  bool send(const Message& m, std::span<const int> descriptors = {}) {
    return isolation::send(socket_, m, descriptors);
  }

  struct Patience {
    double seconds = 0;  // of the worker's own time, as WorkerClock counts it
    double at_most = 0;  // seconds by the clock on the wall
    /// Of a device: the share of its time that a worker could have had since this was last asked, 0 to 1.
    /// Asked of waits that take longer than most; none: all of it.
    std::function<double()> share = {};
  };
  enum class Heard {
    message,
    late,       // it has used its seconds
    suspended,  // it was stopped by a signal for so many
    starved,    // it got too little of them
    gone
  };
  /// The next message, of any kind but `signal` (kept for `death`).
  Heard hear(Anything& into, long& length, const Patience& patience);

  /// Ends the worker if it still runs and says in words how it ended, without the last thing it printed:
  /// "segmentation fault", "exited with status 3".
  std::string death();
  pid_t pid() const { return pid_; }
  /// After `death`: by a signal that anybody may send, and that no supervisor here did.
  bool killed() const;
  /// The same as a kind; after death().
  FaultKind death_kind() const;
  /// The worker's last signal, if its handler could report it.
  const std::optional<Signal>& signal() const { return signal_; }
  /// The last lines that it printed, in quotes after ": "; empty if it printed nothing.
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
  bool outlived_ = false;  // it had closed its end of the socket, and ran on
  bool printing_ = true;   // its standard output is open
  std::string printed_;    // the last few thousand bytes
  std::optional<Signal> signal_;
};

}  // namespace assay::isolation
