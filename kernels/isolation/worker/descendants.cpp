// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "kernels/isolation/worker/worker.hpp"

namespace assay::isolation {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(5);

/// Calls f with each entry of a folder of /proc whose name is a number.
template <class F>
void each_number(const std::string& folder, F f) {
  DIR* const all = opendir(folder.c_str());
  if (!all) return;
  while (const dirent* const entry = readdir(all))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) f(std::atoi(entry->d_name));
  closedir(all);
}

/// Appends the children that the threads of a process have started.
void add_children(int pid, std::vector<int>& to) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  each_number(tasks, [&](int thread) {
    std::FILE* const file = std::fopen((tasks + "/" + std::to_string(thread) + "/children").c_str(), "r");
    if (!file) return;
    for (int child = 0; std::fscanf(file, "%d", &child) == 1;) to.push_back(child);
    std::fclose(file);
  });
}

/// The parent of a process; 0 if there is none.
int parent_of(int pid) {
  std::FILE* const file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  if (!file) return 0;
  char text[512];
  text[std::fread(text, 1, sizeof text - 1, file)] = 0;
  std::fclose(file);
  // The process name in brackets may hold any character.
  const char* const name_end = std::strrchr(text, ')');
  int parent = 0;
  return name_end && std::sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Where children are not listed: what a process leaves behind becomes a child of this one, level by level.
void end_children() {
  each_number("/proc", [](int pid) {
    if (parent_of(pid) == getpid()) kill(pid, SIGKILL);
  });
}

/// Stops all of them, and returns them. A process that is not stopped yet may start another, so it takes some
/// rounds.
std::vector<int> stop_all(Clock::time_point last) {
  std::set<int> seen;
  for (;;) {
    const std::vector<int> all = descendants(SIZE_MAX);
    const std::size_t before = seen.size();
    for (const int pid : all)
      if (seen.insert(pid).second) kill(pid, SIGSTOP);
    if (seen.size() == before || Clock::now() >= last) return all;
  }
}

}  // namespace

std::vector<int> descendants(std::size_t most) {
  std::vector<int> all;
  add_children(getpid(), all);
  for (std::size_t i = 0; i < all.size() && all.size() < most; ++i) add_children(all[i], all);
  return all;
}

void kill_descendants() {
  for (const int pid : stop_all(Clock::now() + kPatience)) kill(pid, SIGKILL);
}

void end_descendants() {
  const auto last = Clock::now() + kPatience;
  while (has_children() && Clock::now() < last) {
    const std::vector<int> all = stop_all(last);
    for (const int pid : all) kill(pid, SIGKILL);
    if (all.empty()) end_children();
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
}

}  // namespace assay::isolation
