// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay::isolation {
namespace {

struct Start {
  const Child& child;
  const char* program;
  char* const* argv;
  char* const* environment;
  pid_t parent;
  const sigset_t& mask;
  std::vector<int> moved;  // the child's descriptors, above every number that they get
  int error = 0;
};

/// In the new process, which has the memory of its parent until it runs the program: nothing but system
/// calls.
[[noreturn]] void become(Start& s) {
  // No handler of the parent's may run here.
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction how {};
    if (sigaction(signal, nullptr, &how) != 0 || (!s.child.apart && how.sa_handler == SIG_IGN)) continue;
    how = {};
    how.sa_handler = SIG_DFL;
    sigaction(signal, &how, nullptr);
  }
  if (s.child.apart) setpgid(0, 0);
  if (s.child.with_parent != 0) {
    prctl(PR_SET_PDEATHSIG, s.child.with_parent);
    if (getppid() != s.parent) _exit(127);
  }
  for (const auto& [resource, most] : s.child.limits) {
    rlimit now{};
    if (getrlimit(resource, &now) != 0) continue;
    now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
    setrlimit(resource, &now);
  }
  // A descriptor may have the number that another one gets: 0, if this process has no standard input.
  const auto& descriptors = s.child.descriptors;
  int above = 3;
  for (const auto& [from, to] : descriptors) above = std::max(above, to + 1);
  bool ready = true;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    s.moved[i] = fcntl(descriptors[i].first, F_DUPFD_CLOEXEC, above);
    ready = ready && s.moved[i] >= 0;
  }
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  ready = ready && nothing >= 0 && (nothing == 0 ? fcntl(0, F_SETFD, 0) == 0 : dup2(nothing, 0) == 0);
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    ready = ready && dup2(s.moved[i], descriptors[i].second) >= 0;
  if (ready) {
    sigprocmask(SIG_SETMASK, &s.mask, nullptr);
    (std::strchr(s.program, '/') ? execve : execvpe)(s.program, s.argv, s.environment);
  }
  s.error = errno;
  _exit(127);
}

/// The parent has its memory back, and goes on, when the program runs. A copy of the memory's map (fork)
/// would take long in a process that has mapped a GPU.
[[gnu::noinline]] pid_t forked(Start& s) {
  const pid_t pid = vfork();
  if (pid == 0) become(s);
  if (pid < 0) s.error = errno;
  return pid;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& w : words) all.push_back(const_cast<char*>(w.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

int start(const Child& child, pid_t& pid) {
  const std::vector<char*> argv = pointers(child.words);
  const std::vector<char*> own = child.environment ? pointers(*child.environment) : std::vector<char*>();
  sigset_t none, every, before;
  sigemptyset(&none);
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  Start s{child,
          child.program.empty() ? argv[0] : child.program.c_str(),
          argv.data(),
          child.environment ? own.data() : environ,
          getpid(),
          child.apart ? none : before,
          std::vector<int>(child.descriptors.size(), -1)};
  const pid_t started = forked(s);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (s.error == 0)
    pid = started;
  else if (started > 0)
    waitpid(started, nullptr, 0);
  return s.error;
}

int status_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace assay::isolation
