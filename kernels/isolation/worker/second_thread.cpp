// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/second_thread.hpp"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/isolation/worker/last_words.hpp"

namespace assay::isolation {
namespace {

/// If a thread has waited in vain so often, the kernel lets only one launch in at a time.
constexpr int kMostInVain = 2;

}  // namespace

/// Whose turn it is.
struct Turns {
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::duration<double> patience{0};
  int turns = 0, at = 0, taken = 0, in_vain = 0;
  /// A launcher without any kernel of the executor would only be run alone, and never beside itself.
  bool called = true;
  bool done[2] = {};

  void begin(int most, double seconds) {
    const std::lock_guard<std::mutex> lock(mutex);
    patience = std::chrono::duration<double>(seconds);
    turns = in_vain < kMostInVain && called ? most : 0;
    if (turns > 0) called = false;
    at = taken = 0;
    done[0] = done[1] = false;
  }
  void hand_over(int who, int step) {
    std::unique_lock<std::mutex> lock(mutex);
    called = true;
    if (step > turns || done[1 - who] || taken >= SecondThread::kMostTurns) return;
    ++taken;
    at = 1 - who;
    changed.notify_all();
    wait(lock, who);
  }
  void wait_for_first(int who) {
    std::unique_lock<std::mutex> lock(mutex);
    if (turns > 0) wait(lock, who);
  }
  void finish(int who) {
    const std::lock_guard<std::mutex> lock(mutex);
    done[who] = true;
    changed.notify_all();
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock, int who) {
    if (changed.wait_for(lock, patience, [&] { return at == who || done[1 - who] || turns == 0; })) return;
    ++in_vain;
    turns = 0;
    changed.notify_all();
  }
};

namespace {

struct Part {
  Turns* turns = nullptr;
  int who = 0;
};
thread_local Part part;

/// The turns of one thread's work.
class TakesPart {
 public:
  TakesPart(Turns& turns, int who) {
    part = {&turns, who};
    turns.wait_for_first(who);
  }
  ~TakesPart() {
    part.turns->finish(part.who);
    part = {};
  }
};

/// Neither thread goes on before both have arrived.
void meet(std::atomic<int>& ready) {
  ready.fetch_add(1);
  while (ready.load() < 2) std::this_thread::yield();
}

}  // namespace

struct SecondThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(int)>* work = nullptr;
  std::fenv_t floating;  // the main thread's rounding and flushing modes, which a library may set when loaded
  std::atomic<int> ready{0};
  Turns turns;
};

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
      {
        const TakesPart takes(state->turns, 1);
        (*work)(1);
      }
      lock.lock();
      state->work = nullptr;
      state->changed.notify_all();
    }
  }).detach();
}

void SecondThread::both(int turns, double patience, const std::function<void(int)>& work) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ready = 0;
    std::fegetenv(&state_->floating);
    state_->turns.begin(turns, patience);
    state_->work = &work;
    state_->changed.notify_all();
  }
  meet(state_->ready);
  {
    const TakesPart takes(state_->turns, 0);
    work(0);
  }
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->work == nullptr; });
}

void SecondThread::turn(int step) {
  if (part.turns) part.turns->hand_over(part.who, step);
}

}  // namespace assay::isolation
