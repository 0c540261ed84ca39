// A thread that waits beside the main one, so that two launches can be made at the same time.
#pragma once

#include <functional>

namespace assay::isolation {

class SecondThread {
 public:
  /// Starts the thread, which lives as long as the process.
  void start();
  /// Calls work(0) here and work(1) over there, at the same moment; returns when both have.
  void both(const std::function<void(int)>& work);

 private:
  struct State;
  State* state_ = nullptr;
};

}  // namespace assay::isolation
