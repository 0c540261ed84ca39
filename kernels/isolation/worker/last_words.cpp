// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/last_words.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

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

}  // namespace assay::isolation
