// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/warm_process.hpp"

#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "kernels/isolation/shared/warm_message.hpp"

namespace assay::isolation {
namespace {

/// The state letter behind the name in a thread's stat file. R: runs or wants to run. S: sleeps. D: waits for
/// memory or a disk. T and t: stopped.
char state_of(const std::string& thread) {
  std::FILE* const file = std::fopen((thread + "/stat").c_str(), "r");
  if (!file) return 0;
  char text[512];
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  const char* const name_end = std::strrchr(text, ')');
  return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

struct Threads {
  int running = 0, waiting = 0, stopped = 0, traced = 0, all = 0;
};

Threads threads_of(pid_t pid) {
  Threads t;
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  DIR* const tasks = opendir(folder.c_str());
  if (!tasks) return t;
  while (const dirent* const entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const char state = state_of(folder + "/" + entry->d_name);
    if (state == 0) continue;
    ++t.all;
    t.running += state == 'R';
    t.waiting += state == 'D';
    t.stopped += state == 'T' || state == 't';
    t.traced += state == 't';
  }
  closedir(tasks);
  return t;
}

}  // namespace

std::optional<double> WorkerClock::processor_seconds(pid_t pid) {
  clockid_t clock;
  timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return {};
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

WorkerClock::WorkerClock(pid_t pid) : pid_(pid), cpu_(processor_seconds(pid).value_or(0)) {}

WorkerClock::Tick WorkerClock::tick(double elapsed) {
  const std::optional<double> now = processor_seconds(pid_);
  const Threads threads = threads_of(pid_);
  if (!now || threads.all == 0) return {elapsed, false};
  const double ran = std::clamp(*now - cpu_, 0.0, elapsed);
  cpu_ = *now;
  if (threads.stopped == threads.all) return {ran, true, threads.traced > 0};
  // If no thread runs or waits to run, the worker sleeps by its own choice, and all the time counts.
  return {threads.running + threads.waiting > 0 ? ran : elapsed, false};
}

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

/// What the process calls itself, in its own process namespace. 0 if there is no such process.
pid_t innermost_name(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NSpid:")) return std::atoi(line.c_str() + line.find_last_of("\t ") + 1);
  return 0;
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
    process_ = std::make_unique<Process>(parent_);
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

/// The process that it has forked and calls by this name; 0 if there is none. A sandbox has process ids of
/// its own.
pid_t WarmProcess::worker_called(pid_t name) const {
  const auto is_worker = [&](pid_t pid) {
    return pid > 1 && look_at(pid).parent == process_->pid() && getpgid(pid) == pid &&
           innermost_name(pid) == name;
  };
  if (is_worker(name)) return name;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored))
    if (const pid_t pid = std::atoi(entry.path().filename().c_str()); is_worker(pid)) return pid;
  return 0;
}

int WarmProcess::start(int socket, int output, pid_t& pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Fork request;
  const Forked* const forked = ask<Forked>(request, {socket, output});
  if (!forked) return EAGAIN;
  if (forked->error != 0) return forked->error;
  // The pid will get signals, so it must be one that it has forked.
  const pid_t name = forked->pid;
  pid = worker_called(name);
  if (pid == 0) {
    give_up("the process that forks its workers named another");
    return EAGAIN;
  }
  names_[pid] = name;
  return 0;
}

bool WarmProcess::ended(pid_t pid, bool keep, int& status) {
  Reap request;
  const auto name = names_.find(pid);
  request.pid = name == names_.end() ? pid : name->second;
  request.keep = keep;
  if (const Reaped* const reaped = ask<Reaped>(request)) {
    status = reaped->status;
    if (reaped->ended && !keep && name != names_.end()) names_.erase(name);
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

bool WarmProcess::ended_with_it(pid_t) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !process_;
}

void WarmProcess::expects_shared(pid_t, std::int64_t mib) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shared_ = std::max(shared_, mib);
  if (process_) process_->expects_shared(shared_);
}

bool WarmProcess::reap(pid_t pid, int& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended(pid, false, status);
}

}  // namespace assay::isolation
