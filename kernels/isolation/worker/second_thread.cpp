// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/second_thread.hpp"

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/isolation/worker/last_words.hpp"

namespace assay::isolation {

struct SecondThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(int)>* work = nullptr;
  std::fenv_t floating;  // the main thread's rounding and flushing modes, which a library may set when loaded
  std::atomic<int> ready{0};
};

namespace {

/// Neither thread goes on before both have arrived.
void meet(std::atomic<int>& ready) {
  ready.fetch_add(1);
  while (ready.load() < 2) std::this_thread::yield();
}

}  // namespace

void SecondThread::start() {
  if (state_) return;
  state_ = new State;
  std::thread([state = state_] {
    use_signal_stack();
    for (;;) {
      std::unique_lock<std::mutex> lock(state->mutex);
      state->changed.wait(lock, [&] { return state->work != nullptr; });
      const auto* work = state->work;
      std::fesetenv(&state->floating);
      lock.unlock();
      meet(state->ready);
      (*work)(1);
      lock.lock();
      state->work = nullptr;
      state->changed.notify_all();
    }
  }).detach();
}

void SecondThread::both(const std::function<void(int)>& work) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ready = 0;
    std::fegetenv(&state_->floating);
    state_->work = &work;
    state_->changed.notify_all();
  }
  meet(state_->ready);
  work(0);
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->work == nullptr; });
}

}  // namespace assay::isolation
