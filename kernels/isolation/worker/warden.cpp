// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/warden.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/shared/refused_calls.hpp"
#include "kernels/isolation/shared/warden_message.hpp"
#include "kernels/isolation/worker/read_only.hpp"

namespace assay::isolation {
namespace {

/// No kernel needs more than this many processes. Threads do not count.
constexpr int kMostProcesses = 256;
/// The processes together may use this share of the machine's memory, or $ASSAY_WORKER_MEMORY MiB.
constexpr double kMostMemory = 0.9;
/// A file may have this many bytes.
constexpr rlim_t kMostFile = rlim_t{1} << 30;
constexpr int kTickMs = 50;
/// The most processes and threads that the operating system starts for the sandbox. It holds for no root
/// user, and only a user namespace counts those of the sandbox alone.
constexpr rlim_t kMostTasks = 4096;

bool say(WardenSays says, int value) {
  const WardenMessage m{says, value};
  return ::send(kWarden, &m, sizeof m, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof m);
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
  setrlimit(resource, &now);
}

/// True in a user namespace of its own: the map of the machine's has all 2^32 - 1 users.
bool has_user_namespace() {
  std::FILE* const file = std::fopen("/proc/self/uid_map", "r");
  if (!file) return false;
  long long inside = 0, outside = 0, count = 0;
  const bool read = std::fscanf(file, "%lld %lld %lld", &inside, &outside, &count) == 3;
  std::fclose(file);
  return read && count < 0xffffffff;
}

/// Gives up the priority that the worker has from the warden, for good.
void step_back() {
  limit(RLIMIT_RTPRIO, 0);
  const sched_param none{};
  sched_setscheduler(0, SCHED_OTHER, &none);
}

struct Use {
  int processes = 0;
  std::int64_t pages = 0;  // of their own
};

bool is_another(const dirent& entry) {
  return std::isdigit(static_cast<unsigned char>(entry.d_name[0])) && std::atoi(entry.d_name) != getpid();
}

/// What the processes in this namespace use, but for this one. The shared memory of a launch is not theirs.
Use use_now() {
  Use use;
  DIR* const all = opendir("/proc");
  if (!all) return use;
  // First the number alone: processes that start others take the processor from this one, and looking at
  // each of thousands would take minutes.
  while (const dirent* const entry = readdir(all))
    if (is_another(*entry) && ++use.processes > kMostProcesses) break;
  rewinddir(all);
  for (const dirent* entry; use.processes <= kMostProcesses && (entry = readdir(all));) {
    if (!is_another(*entry)) continue;
    long long size = 0, resident = 0, shared = 0;
    if (std::FILE* const file = std::fopen((std::string("/proc/") + entry->d_name + "/statm").c_str(), "r")) {
      if (std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared) == 3)
        use.pages += std::max(0LL, resident - shared);
      std::fclose(file);
    }
  }
  closedir(all);
  return use;
}

/// In MiB.
int most_memory() {
  if (const char* const wanted = std::getenv("ASSAY_WORKER_MEMORY"); wanted && std::atoi(wanted) > 0)
    return std::atoi(wanted);
  return static_cast<int>(kMostMemory * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(sysconf(_SC_PAGESIZE)) / 0x1p20);
}

/// Ends all processes if they use too much.
void watch(int most_memory) {
  const Use use = use_now();
  if (use.processes > kMostProcesses)
    say(WardenSays::processes, kMostProcesses);
  else if (use.pages * sysconf(_SC_PAGESIZE) >> 20 > most_memory)
    say(WardenSays::memory, most_memory);
  else
    return;
  // In one call, so that none can start another meanwhile.
  kill(-1, SIGKILL);
}

/// Waits for the children that have ended, and reports the worker's end once.
void reap(pid_t worker, bool& reported) {
  for (;;) {
    siginfo_t info{};
    if (!reported && waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == worker) {
      // Its process id stays in use: the supervisor may still send signals to it.
      const int status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
      reported = say(WardenSays::ended, status);
      return;
    }
    info = {};
    if (reported || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid != worker) waitpid(info.si_pid, nullptr, 0);
  }
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

/// Ends what the worker has started, where it shares a process namespace with others. The children of a
/// process that has ended become children of this one.
void end_children() {
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (waitpid(-1, nullptr, WNOHANG) >= 0 && std::chrono::steady_clock::now() < last)
    if (DIR* const all = opendir("/proc")) {
      while (const dirent* const entry = readdir(all))
        if (const int pid = std::atoi(entry->d_name); pid > 0 && parent_of(pid) == getpid())
          kill(pid, SIGKILL);
      closedir(all);
    }
}

[[noreturn]] void guard(pid_t worker, int children, bool own_namespace) {
  bool reported = false;
  const int memory = most_memory();
  for (;;) {
    pollfd watched[2] = {{kWarden, POLLIN, 0}, {children, POLLIN, 0}};
    poll(watched, 2, kTickMs);
    if (watched[0].revents) break;  // the supervisor has closed its end
    signalfd_siginfo drained;
    while (read(children, &drained, sizeof drained) > 0) continue;
    reap(worker, reported);
    if (own_namespace) watch(memory);
  }
  // The first process of a namespace takes all others with it.
  if (!own_namespace) end_children();
  _exit(0);
}

}  // namespace

void guard_worker(const char* const* command) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kMostFile);
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before);
  const bool own_namespace = getpid() == 1;
  if (!own_namespace) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t worker = fork();
  if (worker < 0) _exit(1);
  if (worker > 0) {
    // The kernel's processes may not look into this one.
    prctl(PR_SET_DUMPABLE, 0);
    // Before anything is opened, which would get one of these numbers.
    for (const int fd : {kSocket, kLibrary, kWardenExecutable}) close(fd);
    const int children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    if (children < 0) _exit(1);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(nothing, fd);
    guard(worker, children, own_namespace);
  }
  // A session of its own is a scheduling group of its own on most machines: however many processes the kernel
  // starts, together they get as much of the processor as the warden.
  setsid();
  step_back();
  if (own_namespace && has_user_namespace()) limit(RLIMIT_NPROC, kMostTasks);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  // With a GPU the namespace is not its own. That Landlock lets CUDA open another process's memory was never
  // seen.
  if (own_namespace) keep_read_only();
  if (!refuse_calls(own_namespace ? Uses::host : Uses::gpu)) _exit(1);
  const bool told = say(WardenSays::started, 0);
  close(kWarden);
  close(kWardenExecutable);
  if (!told) _exit(1);
  if (!command[0]) return;
  execv(command[0], const_cast<char* const*>(command));
  std::perror(command[0]);
  _exit(127);
}

void become_program(const char* const* command) {
  keep_read_only();
  if (!command[0] || !refuse_calls(Uses::host)) _exit(126);
  execv(command[0], const_cast<char* const*>(command));
  std::perror(command[0]);
  _exit(127);
}

}  // namespace assay::isolation
