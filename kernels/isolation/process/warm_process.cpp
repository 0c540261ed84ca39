#include "kernels/isolation/process/warm_process.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "kernels/isolation/shared/warm_message.hpp"

namespace assay::isolation {
namespace {

/// Seconds that it gets for a fork: of its own time, and by the wall clock.
const Process::Patience kAnswer{20, 120};

struct Seen {
  char state = 0;  // 0: there is none
  int parent = 0;
};

/// Looks up the process with this id.
Seen look_at(pid_t pid) {
  Seen seen;
  std::FILE* const file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  if (!file) return seen;
  char text[512];
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  // The process name in brackets may hold any character.
  const char* const name_end = std::strrchr(text, ')');
  if (!name_end || std::sscanf(name_end + 1, " %c %d", &seen.state, &seen.parent) != 2) return {};
  return seen;
}

}  // namespace

void WarmProcess::give_up(const std::string& why) {
  declines_ = why;
  // The workers that it has forked end with it.
  process_.reset();
}

bool WarmProcess::ready(const Process::Patience& patience) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tried_) return process_ != nullptr;
  tried_ = true;
  try {
    process_ = std::make_unique<Process>(std::make_shared<Spawner>(command_));
  } catch (const std::system_error& e) {
    give_up(e.what());
    return false;
  }
  long length = 0;
  const bool heard = process_->hear(answer_, length, patience) == Process::Heard::message;
  const Warm* const warm = heard ? as<Warm>(answer_, length, 0) : nullptr;
  if (!warm)
    give_up("a process that forks did not load it in time");
  else if (const std::string why = warm->declines.get(); !why.empty())
    give_up(why);
  else
    repeats_ = warm->repeats.get();
  return process_ != nullptr;
}

std::string WarmProcess::declines() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return declines_;
}

std::string WarmProcess::repeats() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return repeats_;
}

template <class Answer, class Request>
const Answer* WarmProcess::ask(Request& request, const std::vector<int>& descriptors) {
  if (!process_) return nullptr;
  request.head.sequence = ++sequence_;
  long length = 0;
  const bool heard = process_->send(request, descriptors) &&
                     process_->hear(answer_, length, kAnswer) == Process::Heard::message;
  const Answer* const answer = heard ? as<Answer>(answer_, length, sequence_) : nullptr;
  if (!answer) give_up("the process that forks its workers was lost");
  return answer;
}

bool WarmProcess::is_worker(pid_t pid) const {
  return pid > 1 && look_at(pid).parent == process_->pid() && getpgid(pid) == pid;
}

int WarmProcess::start(int socket, int output, pid_t& pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Fork request;
  const Forked* const forked = ask<Forked>(request, {socket, output});
  if (!forked) return EAGAIN;
  if (forked->error != 0) return forked->error;
  // The pid that it names will get signals, so it must be one that it has forked.
  if (!is_worker(forked->pid)) {
    give_up("the process that forks its workers named another");
    return EAGAIN;
  }
  pid = forked->pid;
  return 0;
}

bool WarmProcess::ended(pid_t pid, bool keep, int& status) {
  Reap request;
  request.pid = pid;
  request.keep = keep;
  if (const Reaped* const reaped = ask<Reaped>(request)) {
    status = reaped->status;
    return reaped->ended;
  }
  // The forking process is gone, and its workers end with it.
  status = SIGKILL;
  const char state = look_at(pid).state;
  return state == 0 || state == 'Z' || state == 'X';
}

bool WarmProcess::exited(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  int status = 0;
  return ended(pid, true, status);
}

bool WarmProcess::reap(pid_t pid, int& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended(pid, false, status);
}

}  // namespace assay::isolation
