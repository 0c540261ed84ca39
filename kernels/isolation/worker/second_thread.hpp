// SPDX-License-Identifier: Apache-2.0
// A second thread that waits beside the main one, so that two launches can be made at the same time.
#pragma once

#include <functional>

namespace assay::isolation {

class SecondThread {
 public:
  /// Starts the thread. It lives as long as the process.
  void start();
  /// Calls work(0) on this thread and work(1) on the other at the same moment. Returns when both are done.
  void both(const std::function<void(int)>& work);

 private:
  struct State;
  State* state_ = nullptr;
};

}  // namespace assay::isolation
