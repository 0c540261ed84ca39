// SPDX-License-Identifier: Apache-2.0
// A second thread that waits beside the main one, so that two launches can be made at the same time.
#pragma once

#include <functional>

namespace assay::isolation {

// What a worker reports when it dies: its signal handler sends the signal and the address.

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE and SIGILL. They report to `socket`, and then the process
/// dies of the signal. Does nothing under a sanitizer, which has handlers of its own.
void report_signals(int socket);

/// Gives the calling thread a signal stack, so that an overflow of its own stack can be reported.
void use_signal_stack();

class SecondThread {
 public:
  /// Starts the thread. It lives as long as the process.
  void start();
  /// Calls work(0) on this thread and work(1) on the other at the same moment. Returns when both are done.
  /// `turns` > 0: one of them stands still while the other works, and they change places where the work calls
  /// turn(step) with a step of at most `turns`, but not more than kMostTurns times. `patience`: seconds that
  /// one waits for the other. Turns are given up for good if that was in vain twice, or if a work called no
  /// turn.
  void both(int turns, double patience, const std::function<void(int)>& work);
  /// Called by the work. Waits until it is this thread's turn again; but not for ever, because the other
  /// thread may wait for a lock that this one holds.
  static void turn(int step);

  static constexpr int kMostTurns = 200;

 private:
  struct State;
  State* state_ = nullptr;
};

}  // namespace assay::isolation
