// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/worker_clock.hpp"

#include <dirent.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

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

}  // namespace assay::isolation
