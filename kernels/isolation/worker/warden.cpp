// SPDX-License-Identifier: Apache-2.0
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
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/isolation/shared/confinement.hpp"
#include "kernels/isolation/shared/memory_limit.hpp"
#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/shared/warden_message.hpp"
#include "kernels/isolation/worker/worker.hpp"

namespace assay::isolation {
namespace {

/// No kernel needs more than this many processes. Threads do not count.
constexpr std::size_t kMostProcesses = 256;
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
  std::size_t processes = 0;
  std::int64_t mib = 0;  // of their own
};

/// The processes in a namespace of its own, but for this one. No more than one too many: processes that start
/// others take the processor from this one, and looking at each of thousands would take minutes.
std::vector<int> others_in_namespace() {
  std::vector<int> found;
  DIR* const all = opendir("/proc");
  if (!all) return found;
  while (const dirent* const entry = readdir(all)) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    if (const int pid = std::atoi(entry->d_name); pid != getpid()) found.push_back(pid);
    if (found.size() > kMostProcesses) break;
  }
  closedir(all);
  return found;
}

/// What the worker and all that it has started use. The shared memory of a launch, `shared` MiB, is not
/// theirs.
Use use_now(bool own_namespace, std::int64_t shared) {
  const std::vector<int> all = own_namespace ? others_in_namespace() : descendants(kMostProcesses + 1);
  Use use{all.size(), 0};
  if (use.processes > kMostProcesses) return use;
  for (const int pid : all)
    use.mib += own_memory(pid) + std::max<std::int64_t>(0, shared_memory(pid) - shared);
  return use;
}

using Saying = std::function<void(WardenSays, int)>;

/// Reads what the supervisor says. False if it has closed its end.
bool listen(std::int64_t& shared) {
  WardenMessage m;
  for (;;) {
    const ssize_t n = recv(kWarden, &m, sizeof m, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n != sizeof m || m.says != WardenSays::shared) return false;
    shared = std::max<std::int64_t>(shared, m.value);
  }
}

/// Ends all processes if they use too much, and says so.
void watch(std::int64_t most_memory, bool own_namespace, std::int64_t& shared, const Saying& says) {
  Use use = use_now(own_namespace, shared);
  // A launch may have begun since the supervisor was heard.
  if (use.mib > most_memory && listen(shared)) use = use_now(own_namespace, shared);
  if (use.processes > kMostProcesses)
    says(WardenSays::processes, static_cast<int>(kMostProcesses));
  else if (use.mib > most_memory)
    says(WardenSays::memory, static_cast<int>(most_memory));
  else
    return;
  if (own_namespace)
    kill(-1, SIGKILL);  // in one call, so that none can start another meanwhile
  else
    kill_descendants();
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

[[noreturn]] void guard(pid_t worker, int children, bool own_namespace, const std::string& scratch) {
  bool reported = false;
  const std::int64_t memory = most_memory();
  std::int64_t shared = 0;
  for (;;) {
    pollfd watched[2] = {{kWarden, POLLIN, 0}, {children, POLLIN, 0}};
    poll(watched, 2, kTickMs);
    if (watched[0].revents && !listen(shared)) break;  // the supervisor has closed its end
    signalfd_siginfo drained;
    while (read(children, &drained, sizeof drained) > 0) continue;
    reap(worker, reported);
    watch(memory, own_namespace, shared, say);
  }
  // The first process of a namespace takes all others with it.
  if (!own_namespace) end_descendants();
  if (!scratch.empty()) remove_scratch(scratch);
  _exit(0);
}

/// Called by the process that is to be confined, before it runs anything.
void enter(Confinement confinement, const std::string& scratch) {
  // No namespace ends it together with its parent.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (scratch.empty() || setenv("TMPDIR", scratch.c_str(), 1) != 0) _exit(1);
  confinement.writable.push_back(scratch);
  if (!confine_to(confinement)) _exit(1);
}

/// A folder of its own for the worker's files, whose name no kernel knows.
void draw_scratch() {
  const char* const scratch = std::getenv("TMPDIR");
  std::string own = std::string(scratch ? scratch : "") + "/XXXXXX";
  if (scratch && mkdtemp(own.data())) setenv("TMPDIR", own.c_str(), 1);
}

/// Landlock knows a folder of /proc as long as somebody has it open.
void hold_open_tasks(pid_t process) {
  open(("/proc/" + std::to_string(process) + "/task").c_str(), O_PATH | O_CLOEXEC);
}

/// The exit status of a shell whose command ended so.
int status_of_shell(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/// Runs a command in a confinement, and ends what it leaves. Without a command it tries whether the
/// confinement holds.
[[noreturn]] void guard_program(const Confinement& confinement, const char* const* command) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kMostFile);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, number);
  sigprocmask(SIG_BLOCK, &watched, &before);
  const int signals = signalfd(-1, &watched, SFD_CLOEXEC);
  const std::string scratch = confinement.scratch.empty() ? make_scratch() : confinement.scratch;
  const pid_t child = signals < 0 ? -1 : fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    enter(confinement, scratch);
    if (!command[0]) {
      const std::string why = not_held(scratch);
      if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str());
      _exit(why.empty() ? 0 : 1);
    }
    execv(command[0], const_cast<char* const*>(command));
    std::perror(command[0]);
    _exit(127);
  }
  prctl(PR_SET_DUMPABLE, 0);
  int status = 1 << 8;
  bool ended = child < 0;
  const std::int64_t memory = most_memory();
  std::int64_t shared = 0;  // a program has no buffers of ours
  while (!ended) {
    pollfd one{signals, POLLIN, 0};
    if (poll(&one, 1, kTickMs) > 0) {
      signalfd_siginfo got{};
      if (read(signals, &got, sizeof got) == static_cast<ssize_t>(sizeof got) && got.ssi_signo != SIGCHLD) {
        status = static_cast<int>(got.ssi_signo);
        break;
      }
    }
    for (int of = 0, pid = 0; !ended && (pid = waitpid(-1, &of, WNOHANG)) > 0;)
      if (pid == child) status = of, ended = true;
    watch(memory, false, shared, [](WardenSays what, int most) {
      std::fprintf(stderr, "assay: ended by the sandbox: more than %d %s\n", most,
                   what == WardenSays::memory ? "MiB of memory" : "processes");
    });
  }
  end_descendants();
  if (confinement.scratch.empty()) remove_scratch(scratch);
  _exit(status_of_shell(status));
}

}  // namespace

void guard_worker(const char* const* command) {
  const std::optional<Confinement> confinement = take_confinement(command);
  const std::string scratch = confinement ? make_scratch() : std::string();
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
    if (confinement) hold_open_tasks(worker);
    const int children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    if (children < 0) _exit(1);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(nothing, fd);
    guard(worker, children, own_namespace, scratch);
  }
  // What only this program reads marks its processes.
  unsetenv("ASSAY_WORKER_MEMORY");
  // A session of its own is a scheduling group of its own on most machines: however many processes the kernel
  // starts, together they get as much of the processor as the warden.
  setsid();
  step_back();
  if (has_user_namespace()) limit(RLIMIT_NPROC, kMostTasks);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (confinement) {
    enter(*confinement, scratch);
  } else {
    draw_scratch();
    keep_read_only();
    if (!refuse_calls(own_namespace ? Uses::host : Uses::gpu)) _exit(1);
  }
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
  if (const auto confinement = take_confinement(command)) guard_program(*confinement, command);
  keep_read_only();
  if (!command[0] || !refuse_calls(Uses::host)) _exit(126);
  execv(command[0], const_cast<char* const*>(command));
  std::perror(command[0]);
  _exit(127);
}

}  // namespace assay::isolation
