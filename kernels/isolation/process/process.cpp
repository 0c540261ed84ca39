// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/process/warm_process.hpp"
#include "kernels/isolation/shared/plain_text.hpp"

namespace assay::isolation {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPrintedKept = 8192;
/// A surviving child may keep the dead worker's socket open. The death is then noticed after this time at the
/// latest.
constexpr int kTickMs = 100;
constexpr double kLongestTick = 1;
/// Seconds. The socket holds dozens of requests, and a worker has one at a time.
constexpr int kLongestSend = 20;
/// A worker reports four signals, each once (worker/second_thread.cpp).
constexpr int kMostSignals = 4;
/// What a dead worker may have left in its socket is more only if something of it still sends.
constexpr int kMostLate = 16;
/// In waits longer than this many seconds, the device is asked for its share.
constexpr double kLongWait = 0.5;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Converts a wait in seconds to milliseconds: at most one tick, at least 1.
int wait_ms(double seconds) {
  return static_cast<int>(std::clamp(std::ceil(1000 * seconds), 1.0, static_cast<double>(kTickMs)));
}

std::string in_words(int number) { return fmt::format("signal {} ({})", number, strsignal(number)); }

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic exception (SIGFPE)";
    case SIGILL:
      return "illegal instruction (in a kernel on the host executor: a misaligned vector access)";
    case SIGABRT:
      return "aborted";
    default:
      return "ended by " + in_words(number);
  }
}

}  // namespace

Process::Process(std::shared_ptr<Parent> parent) : parent_(std::move(parent)) {
  int pair[2], out[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket for a worker");
  if (pipe2(out, O_CLOEXEC) != 0) {
    const int e = errno;
    close(pair[0]);
    close(pair[1]);
    throw std::system_error(e, std::generic_category(), "a pipe for a worker");
  }
  // Move them away from 0 to 3: these may be free here, but have a meaning in the worker.
  for (int* fd : {&pair[0], &pair[1], &out[0], &out[1]})
    if (*fd < 10)
      if (const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 10); moved >= 0) {
        close(*fd);
        *fd = moved;
      }
  const int error = parent_->start(pair[1], out[1], pid_);
  close(pair[1]);
  close(out[1]);
  socket_ = pair[0];
  output_ = out[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  // A worker that reads no request must not hold the supervisor.
  const timeval longest{kLongestSend, 0};
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  if (error != 0) {
    close(socket_);
    close(output_);
    throw std::system_error(error, std::generic_category(), "starting " + parent_->name());
  }
}

Process::~Process() {
  end();
  close(socket_);
  close(output_);
}

void Process::drain() {
  char buffer[4096];
  ssize_t n;
  // A kernel that prints without end must not hold the supervisor here.
  for (int turns = 0; turns < 64 && (n = read(output_, buffer, sizeof buffer)) > 0; ++turns) {
    printed_.append(buffer, static_cast<std::size_t>(n));
    if (printed_.size() > 2 * kPrintedKept) printed_.erase(0, printed_.size() - kPrintedKept);
  }
}

Process::Heard Process::hear(Anything& into, long& length, const Patience& patience, double* used) {
  const auto begin = Clock::now();
  WorkerClock clock(pid_);
  // Seconds: by the wall clock, used by the worker, stopped, and stopped by no debugger.
  double counted = 0, spent = 0, stopped = 0, halted = 0;
  const double most_halted = std::min(patience.seconds, kStoppedSeconds);
  for (;;) {
    pollfd watched[2] = {{socket_, POLLIN, 0}, {printing_ ? output_ : -1, POLLIN, 0}};
    const int ready = poll(watched, 2, wait_ms(patience.seconds - std::max(spent, stopped)));
    if (ready < 0 && errno != EINTR) return Heard::gone;
    if (ready > 0 && watched[1].revents) {
      drain();
      if (watched[1].revents & POLLHUP) printing_ = false;
    }
    if (ready > 0 && watched[0].revents) {
      length = receive(socket_, into);
      if (length <= 0) return Heard::gone;
      const Signal* const s = as<Signal>(into, length, into.head.sequence);
      if (!s || ++signals_ > kMostSignals) {
        // The worker answered within this tick. More time than a tick is the supervisor's own delay.
        if (used) *used = spent + std::min(since(begin) - counted, 0.001 * kTickMs);
        return Heard::message;
      }
      signal_ = *s;
    }
    if (ready == 0 && exited()) return Heard::gone;
    // A very long tick means that the supervisor itself was suspended.
    const double now = since(begin), elapsed = std::min(now - counted, kLongestTick);
    if (elapsed < 0.001 * kTickMs && now < patience.seconds) continue;
    counted = now;
    const WorkerClock::Tick tick = clock.tick(elapsed);
    const double share = patience.share && now > kLongWait ? patience.share() : 1;
    spent += tick.stopped ? 0 : share * tick.used;
    stopped += tick.stopped ? elapsed : 0;
    halted = tick.stopped && !tick.traced ? halted + elapsed : 0;
    if (patience.excess && !patience.excess().empty()) return Heard::excessive;
    if (spent >= patience.seconds) return Heard::late;
    halted_ = halted >= most_halted;
    if (stopped >= patience.seconds || halted_) return Heard::suspended;
    if (now >= patience.at_most) return Heard::starved;
  }
}

bool Process::killed() const {
  if (!reaped_ || outlived_ || signal_ || !ended_it_.empty() || !WIFSIGNALED(status_)) return false;
  const int by = WTERMSIG(status_);
  return by == SIGKILL || by == SIGTERM || by == SIGINT || by == SIGHUP;
}

bool Process::unexplained() const {
  if (halted_) return true;
  if (with_parent_ || !killed()) return false;
  // The operating system ends a process for want of memory by SIGKILL.
  return WTERMSIG(status_) != SIGKILL || memory_kills() == memory_kills_;
}

std::string Process::killer() const { return in_words(WTERMSIG(status_)); }

void Process::end() {
  if (reaped_) return;
  // A worker that has closed its end of the socket is most likely about to exit. It is worth waiting a moment
  // to learn how. A worker that still listens did nothing wrong: it is only no longer needed.
  pollfd watched{socket_, POLLRDHUP, 0};
  if (poll(&watched, 1, 0) > 0) {
    for (int i = 0; i < 100 && !exited(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    outlived_ = !exited();
  }
  kill(-pid_, SIGKILL);  // its process group: what it may have forked
  kill(pid_, SIGKILL);
  // A process that hangs in the driver may take long to end; do not wait for ever.
  const auto last = Clock::now() + std::chrono::seconds(30);
  auto pause = std::chrono::microseconds(50);
  const auto wait = [&] {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  };
  while (!exited() && Clock::now() < last) wait();
  ended_it_ = parent_->ended_it(pid_);
  with_parent_ = parent_->ended_with_it(pid_);
  pause = std::chrono::microseconds(50);
  while (!parent_->reap(pid_, status_) && Clock::now() < last) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
  reaped_ = true;
}

std::string Process::death() {
  end();
  drain();
  Anything late;
  pollfd watched{socket_, POLLIN, 0};
  for (int turns = 0; turns < kMostLate && poll(&watched, 1, 0) > 0 && watched.revents & POLLIN; ++turns) {
    const long n = receive(socket_, late);
    if (n <= 0) break;
    if (const Signal* s = as<Signal>(late, n, late.head.sequence)) signal_ = *s;
  }
  if (!ended_it_.empty()) return ended_it_;
  if (WIFEXITED(status_)) {
    if (WEXITSTATUS(status_) == kSpeechless) return "closed or replaced the worker's file descriptors";
    return "exited with status " + std::to_string(WEXITSTATUS(status_));
  }
  if (outlived_) return "closed or replaced the worker's file descriptors, and went on";
  return signal_name(WTERMSIG(status_));
}

FaultKind Process::death_kind() const {
  if (!reaped_ || outlived_ || !WIFSIGNALED(status_)) return FaultKind::died;
  switch (WTERMSIG(status_)) {
    case SIGSEGV:
    case SIGBUS:
      return signal_ && signal_->sent ? FaultKind::died : FaultKind::wild_access;
    // The host executor's vector types trap if their address is not a multiple of their size.
    case SIGILL:
      return FaultKind::misaligned;
    // An assertion is the kernel's own message. A heap or a stack that glibc finds broken is not.
    case SIGABRT:
      for (const char* const found :
           {"free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "double free", "corrupted ",
            "stack smashing detected", "malloc_consolidate(): "})
        if (printed_.find(found) != std::string::npos) return FaultKind::own_memory_overrun;
      return FaultKind::died;
    default:
      return FaultKind::died;
  }
}

std::string Process::last_words() {
  drain();
  std::string text = plain_text(printed_);
  std::string chosen;
  int lines = 0;
  while (!text.empty() && lines < 3) {
    const std::size_t at = text.rfind('\n');
    std::string line = at == std::string::npos ? text : text.substr(at + 1);
    text.erase(at == std::string::npos ? 0 : at);
    // The headline of a sanitizer's report says more than its last lines.
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    if (line.size() > 200) line = plain_text(line.substr(0, 197)) + "...";
    chosen = chosen.empty() ? line : line + " / " + chosen;
    ++lines;
  }
  for (const char* headline : {"ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:"})
    if (const std::size_t at = printed_.find(headline); at != std::string::npos)
      chosen = plain_text(printed_.substr(at, std::min<std::size_t>(printed_.find('\n', at) - at, 200)));
  return chosen.empty() ? "" : ": \"" + chosen + "\"";
}

}  // namespace assay::isolation
