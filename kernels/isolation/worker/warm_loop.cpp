// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/warm_loop.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "kernels/isolation/shared/channel.hpp"
#include "kernels/isolation/shared/warm_message.hpp"

namespace assay::isolation {
namespace {

std::uint32_t sequence = 0;

template <class Message>
bool answer(Message& m) {
  m.head.sequence = sequence;
  return send(kSocket, m);
}

bool reap(const Reap& r) {
  Reaped a;
  int status = 0;
  siginfo_t info{};
  if (r.keep)
    a.ended = waitid(P_PID, static_cast<id_t>(r.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
              info.si_pid == r.pid;
  else
    a.ended = waitpid(r.pid, &status, WNOHANG) == r.pid;
  a.status = status;
  return answer(a);
}

}  // namespace

bool say_warm(const std::string& declines, const std::string& repeats) {
  Warm w;
  w.declines.set(declines);
  w.repeats.set(repeats);
  return answer(w);
}

bool next_wanted(Wanted& wanted) {
  for (;;) {
    Anything any;
    std::vector<int> descriptors;
    const long length = receive(kSocket, any, &descriptors);
    if (length <= 0) return false;
    sequence = any.head.sequence;
    if (as<Fork>(any, length, sequence) && descriptors.size() == 2) {
      wanted = {descriptors[0], descriptors[1]};
      // Flush now: otherwise every worker would write the buffered output again.
      std::fflush(nullptr);
      return true;
    }
    const Reap* const r = as<Reap>(any, length, sequence);
    if (!r || !reap(*r)) return false;
  }
}

bool say_forked(const Wanted& wanted, pid_t pid, int error) {
  // Both sides do this, so the group exists when the supervisor hears of the worker, whichever side is first.
  if (pid > 0) setpgid(pid, pid);
  close(wanted.socket);
  close(wanted.output);
  Forked f;
  f.pid = pid;
  f.error = error;
  return answer(f);
}

void become_worker(const Wanted& wanted) {
  setpgid(0, 0);
  // This closes the parent's socket, so that a worker cannot speak in the parent's name.
  dup2(wanted.socket, kSocket);
  dup2(wanted.output, 1);
  dup2(wanted.output, 2);
  close(wanted.socket);
  close(wanted.output);
}

}  // namespace assay::isolation
