// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/second_thread.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int speak_to = -1;
pid_t speaker = 0;

// Uses only what a signal handler may call: no memory, no locks.
void speak(int number, siginfo_t* info, [[maybe_unused]] void* context) {
  Signal s;
  s.number = number;
  // A process that the kernel has forked ends without a word: it is not the worker.
  const bool own = getpid() == speaker;
  // A signal that somebody sent is no fault: its address and its access mean nothing.
  if (info->si_code <= 0)
    s.sent = info->si_pid == getpid() ? 1 : 2;
  else
    s.address = reinterpret_cast<std::uint64_t>(info->si_addr);
#if defined(__x86_64__)
  // Bit 1 of a page fault's error code is set for a write.
  if (number == SIGSEGV || number == SIGBUS)
    s.access = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
  // For an address that no pointer can have, the signal carries no fault address.
  if (info->si_code == SI_KERNEL) s.access = -1;
#endif
  if (own) ::send(speak_to, &s, sizeof s, MSG_NOSIGNAL | MSG_DONTWAIT);
  // SA_RESETHAND: the instruction faults again, and this time the default action ends the process.
  if (info->si_code <= 0) raise(number);
}
#endif

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void report_signals(int socket) {
  speak_to = socket;
  speaker = getpid();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction action {};
    action.sa_sigaction = speak;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
}
void use_signal_stack() {
  constexpr std::size_t size = 65536;
  stack_t stack{};
  stack.ss_size = size;
  stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, nullptr);
}
#else
void report_signals(int) {}
void use_signal_stack() {}
#endif

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
