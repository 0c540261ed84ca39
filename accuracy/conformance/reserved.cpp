#include "accuracy/conformance/reserved.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

namespace assay::conformance {
namespace {

/// An offset that wraps at 2^31 or 2^32 elements of four bytes lands within this.
constexpr std::size_t kMoat = std::size_t{1} << 35;
constexpr std::size_t kPage = 4096;

}  // namespace

Reserved::Reserved(std::size_t bytes, bool shared) {
  const std::size_t inner = (bytes + kPage - 1) / kPage * kPage;
  whole_ = inner + 2 * kMoat;
  void* p = mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  base_ = static_cast<std::byte*>(p);
  if (inner == 0) {
    data_ = base_ + kMoat;
    return;
  }
  void* q = mmap(base_ + kMoat, inner, PROT_READ | PROT_WRITE,
                 (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (q != MAP_FAILED) data_ = static_cast<std::byte*>(q);
}

Reserved::~Reserved() {
  if (base_) munmap(base_, whole_);
}

LaunchOutcome in_child(const std::function<std::string()>& work, double seconds) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {std::string("no pipe: ") + std::strerror(errno), Ended::fault};
  const pid_t child = fork();
  if (child < 0) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return {std::string("no process: ") + std::strerror(errno), Ended::fault};
  }
  if (child == 0) {
    close(pipe_ends[0]);
    for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(s, SIG_DFL);
    std::string fault;
    try {
      fault = work();
    } catch (const std::exception& e) {
      fault = e.what();
    }
    fault = "." + fault.substr(0, 2000);
    const ssize_t written = write(pipe_ends[1], fault.data(), fault.size());
    _exit(written == static_cast<ssize_t>(fault.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string said;
  pollfd one{pipe_ends[0], POLLIN, 0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool hung = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    hung = left.count() <= 0;
    if (hung) break;
    const int ready = poll(&one, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) continue;
    std::array<char, 512> some;
    const ssize_t n = read(pipe_ends[0], some.data(), some.size());
    if (n <= 0) break;
    said.append(some.data(), static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  if (hung) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (hung) return {fmt::format("did not end within {} s", seconds), Ended::hung};
  if (WIFSIGNALED(status)) return {strsignal(WTERMSIG(status)), Ended::crashed};
  if (said.empty() || WEXITSTATUS(status) != 0) return {"the process ended by itself", Ended::crashed};
  return {said.substr(1), said.size() > 1 ? Ended::fault : Ended::normally};
}

}  // namespace assay::conformance
