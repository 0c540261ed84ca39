// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace assay::isolation {
namespace {

/// The share of the memory that may be used.
constexpr double kShare = 0.9;
/// Control groups without a limit say "max", or a number beyond every machine.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

std::int64_t share_of(std::int64_t mib) {
  return static_cast<std::int64_t>(kShare * static_cast<double>(mib));
}

/// A file that holds one number of bytes, in MiB; 0 if it holds none.
std::int64_t mib_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t bytes = 0;
  if (!(in >> bytes) || bytes < 0) return 0;
  return bytes >> 20 < kNoLimit ? bytes >> 20 : 0;
}

/// A control group that counts this process's memory.
struct Group {
  bool older = false;  // its files are those of version 1
  std::string root, path;
  std::string folder() const { return root + (path == "/" ? "" : path); }
};

std::vector<Group> groups() {
  std::vector<Group> all;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    // "0::/a/b", or "4:memory:/a/b" of the older kind.
    const std::size_t kind = line.find(':'), path = kind == line.npos ? kind : line.find(':', kind + 1);
    if (path == line.npos) continue;
    const std::string of = line.substr(kind + 1, path - kind - 1);
    if (!of.empty() && of != "memory") continue;
    all.push_back(
        {!of.empty(), of.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", line.substr(path + 1)});
  }
  return all;
}

/// The narrowest limit of this process's control group and of those around it.
void look_at_groups(MachineMemory& m) {
  for (Group g : groups())
    for (;; g.path.erase(g.path.rfind('/'))) {
      const std::int64_t limit = mib_in(g.folder() + (g.older ? "/memory.limit_in_bytes" : "/memory.max"));
      if (limit > 0 && (m.limit == 0 || limit < m.limit)) m.limit = limit;
      if (g.path.rfind('/') == g.path.npos || g.path.empty()) break;
    }
}

/// The number in the line "oom_kill N" of a file.
std::optional<std::int64_t> kills_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t count = 0;
  for (std::string word; in >> word;)
    if (word == "oom_kill" && in >> count) return count;
  return {};
}

}  // namespace

MachineMemory machine_memory() {
  MachineMemory m;
  m.all = (static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)) >> 20;
  look_at_groups(m);
  return m;
}

std::int64_t most_memory(const MachineMemory& m) {
  return share_of(m.limit > 0 ? std::min(m.all, m.limit) : m.all);
}

std::int64_t most_memory() {
  if (const char* const wanted = std::getenv("ASSAY_WORKER_MEMORY"); wanted && std::atoi(wanted) > 0)
    return std::atoi(wanted);
  return most_memory(machine_memory());
}

std::optional<std::int64_t> memory_kills() {
  for (const Group& g : groups())
    if (const auto count = kills_in(g.folder() + (g.older ? "/memory.oom_control" : "/memory.events")))
      return count;
  return kills_in("/proc/vmstat");
}

std::int64_t shared_memory(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  std::int64_t kib = 0;
  for (std::string word; in >> word;)
    if (word == "RssShmem:" && in >> kib) return kib >> 10;
  return 0;
}

std::int64_t own_memory(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  std::int64_t size = 0, resident = 0, shared = 0;
  if (!(in >> size >> resident >> shared)) return 0;
  return (std::max<std::int64_t>(0, resident - shared) * sysconf(_SC_PAGESIZE)) >> 20;
}

}  // namespace assay::isolation
