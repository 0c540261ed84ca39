// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/sandboxed.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/shared/warden_message.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

struct Hidden {
  std::mutex mutex;
  std::set<std::string> folders;
};
Hidden& hidden() {
  static Hidden all;
  return all;
}

/// What workers load, and where they run.
std::set<std::string> needed() {
  std::error_code ignored;
  std::set<std::string> places = {fs::current_path(ignored).string(),
                                  fs::read_symlink("/proc/self/exe", ignored).parent_path().string()};
  for (const std::string& place : shown_places())
    places.insert(fs::weakly_canonical(place, ignored).string());
  return places;
}

}  // namespace

void sandbox_hides(const std::string& folder) {
  std::error_code error;
  const std::string whole = fs::weakly_canonical(fs::absolute(folder, error), error).string();
  if (error || whole.empty()) return;
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  hidden().folders.insert(whole);
}

std::vector<std::string> hidden_folders() {
  const std::set<std::string> places = needed();
  std::vector<std::string> all;
  std::error_code ignored;
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  // A folder inside one that is hidden is hidden with it. The outer one comes first.
  const auto inside = [&](const std::string& folder) {
    return std::ranges::any_of(all,
                               [&](const std::string& outer) { return folder.starts_with(outer + "/"); });
  };
  for (const std::string& folder : hidden().folders)
    if (!places.contains(folder) && !inside(folder) && fs::is_directory(folder, ignored))
      all.push_back(folder);
  return all;
}

std::vector<std::string> hiding_words() {
  std::vector<std::string> words;
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  const std::set<std::string> places = needed();
  for (const std::string& folder : hidden_folders()) {
    add({"--tmpfs", folder});
    for (const std::string& place : places)
      if (place.starts_with(folder + "/")) add({"--ro-bind", place, place});
    add({"--remount-ro", folder});
  }
  return words;
}

std::vector<std::string> unreadable_words() {
  std::vector<std::string> words;
  const std::set<std::string> places = needed();
  for (const std::string& folder : hidden_folders()) {
    words.insert(words.end(), {"--hide", folder});
    for (const std::string& place : places)
      if (place.starts_with(folder + "/")) words.insert(words.end(), {"--show", place});
  }
  return words;
}

namespace {

/// How long a sandbox gets to start on a busy machine.
constexpr int kStartMs = 30000;

/// Reads one message, with the process id of its sender as this process sees it. Empty if there is none, or
/// the other end is closed.
std::optional<WardenMessage> heard(int warden, pid_t& sender, bool& closed) {
  WardenMessage m;
  iovec part{&m, sizeof m};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr all{};
  all.msg_iov = &part;
  all.msg_iovlen = 1;
  all.msg_control = control;
  all.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(warden, &all, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  closed = n == 0 || (n < 0 && errno != EAGAIN);
  if (n != sizeof m) return {};
  for (cmsghdr* c = CMSG_FIRSTHDR(&all); c; c = CMSG_NXTHDR(&all, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
      ucred who;
      std::memcpy(&who, CMSG_DATA(c), sizeof who);
      sender = who.pid;
    }
  return m;
}

/// The same file under a number that has no meaning in the worker, or -1.
int moved_away(int fd) {
  if (fd < 0) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10), error = errno;
  close(fd);
  errno = error;
  return moved;
}

/// The path of a program that each system has and no kernel needs, or empty. Its name is the worker's, so
/// that the worker's tells nothing.
std::string ordinary_program() {
  std::vector<std::string> all;
  for (const char* const name : {"nice", "nohup", "stdbuf", "timeout"}) {
    const std::string path = std::string("/usr/bin/") + name;
    struct stat found {};
    if (lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)) all.push_back(path);
  }
  return all.empty() ? std::string() : all[std::random_device()() % all.size()];
}

/// A copy of the file in memory, under that name, which nobody can change; -1 if there can be none.
int copy_in_memory(const std::string& file, const std::string& name) {
  const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const int to = from < 0 ? -1 : memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  struct stat size {};
  bool whole = to >= 0 && fstat(from, &size) == 0;
  for (off_t at = 0; whole && at < size.st_size;)
    whole = sendfile(to, from, &at, static_cast<std::size_t>(size.st_size - at)) > 0;
  whole = whole && fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (from >= 0) close(from);
  if (to >= 0 && !whole) close(to);
  return whole ? to : -1;
}

/// If memory runs out, the operating system should choose the worker.
void offer_to_oom_killer(pid_t pid) {
  if (std::FILE* const f = std::fopen(("/proc/" + std::to_string(pid) + "/oom_score_adj").c_str(), "w")) {
    std::fputs("1000", f);
    std::fclose(f);
  }
}

}  // namespace

SandboxSpawner::SandboxSpawner(const Sandbox& sandbox, std::string warden, Command command)
    : warden_(std::move(warden)),
      alone_(std::ranges::count(sandbox.front, "--unshare-pid") > 0),
      copy_(!sandbox.front.empty() && command.opened && command.opened->has_copy()),
      bubblewrap_(!sandbox.front.empty()),
      // Its last word is "--". The words of a confinement begin "--confined host 7".
      hides_at_(bubblewrap_             ? static_cast<std::ptrdiff_t>(sandbox.front.size()) - 1
                : !sandbox.told.empty() ? 6
                                        : -1),
      command_(std::move(command)) {
  whole_.words = sandbox.front;
  // Where the path was, workers find what was opened once.
  if (copy_)
    whole_.words.insert(whole_.words.end() - 1,
                        {"--ro-bind-data", std::to_string(kCopy), command_.opened->path()});
  auto environment = sandbox.environment;
  environment.insert(environment.end(), command_.environment.begin(), command_.environment.end());
  // Not for `bwrap` itself. Its last word is "--".
  if (!sandbox.front.empty())
    for (const auto& [name, value] : std::exchange(environment, {}))
      whole_.words.insert(whole_.words.end() - 1, {"--setenv", name, value});
  whole_.environment = std::move(environment);
  static const std::string name = ordinary_program();
  std::error_code ignored;
  const std::string own = std::filesystem::canonical(warden_, ignored).string();
  const bool placed = !sandbox.front.empty() && !name.empty() && !own.empty();
  if (placed) whole_.words.insert(whole_.words.end() - 1, {"--ro-bind", own, name});
  if (!placed && !name.empty()) {
    static const int copy = copy_in_memory(warden_, name.substr(name.rfind('/') + 1));
    program_ = copy;
  }
  whole_.words.insert(
      whole_.words.end(),
      {placed ? name : "/proc/self/fd/" + std::to_string(kWardenExecutable), "worker", "warden"});
  whole_.words.insert(whole_.words.end(), sandbox.told.begin(), sandbox.told.end());
  if (command_.words[0] != warden_)
    whole_.words.insert(whole_.words.end(), command_.words.begin(), command_.words.end());
  whole_.library = command_.library;
}

SandboxSpawner::~SandboxSpawner() {
  for (auto& [pid, one] : all_) finished(one);
}

int SandboxSpawner::start(int socket, int output, pid_t& pid) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  const int yes = 1;
  setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  const int theirs = moved_away(pair[1]);
  Command command = whole_;
  const std::vector<std::string> hiding = bubblewrap_      ? hiding_words()
                                          : hides_at_ >= 0 ? unreadable_words()
                                                           : std::vector<std::string>();
  if (hides_at_ >= 0) command.words.insert(command.words.begin() + hides_at_, hiding.begin(), hiding.end());
  command.warden = theirs;
  Running one;
  one.warden = pair[0];
  command.executable = moved_away(program_ >= 0 ? fcntl(program_, F_DUPFD_CLOEXEC, 10)
                                                : open(warden_.c_str(), O_PATH | O_CLOEXEC));
  if (copy_) command.copy = moved_away(command_.opened->open_copy());
  int error = theirs < 0               ? EMFILE
              : command.executable < 0 ? errno
                                       : spawn(command, socket, output, one.first);
  close(theirs);
  close(command.executable);
  if (command.copy >= 0) close(command.copy);
  if (error == 0) {
    pollfd watched{one.warden, POLLIN, 0};
    bool closed = false;
    pid = 0;
    if (poll(&watched, 1, kStartMs) > 0)
      if (const auto m = heard(one.warden, pid, closed); !m || m->says != WardenSays::started) pid = 0;
    if (pid > 0) {
      offer_to_oom_killer(pid);
      const std::lock_guard<std::mutex> lock(mutex_);
      all_[pid] = one;
      return 0;
    }
    error = EAGAIN;
    kill(one.first, SIGKILL);
    waitpid(one.first, nullptr, 0);
  }
  close(one.warden);
  return error;
}

void SandboxSpawner::listen(Running& one) {
  while (!one.ended) {
    pid_t sender = 0;
    bool closed = false;
    const auto m = heard(one.warden, sender, closed);
    if (!m && !closed) return;
    if (!m) {
      // Somebody has ended the sandbox from outside, and the worker with it.
      one.ended = one.gone = true;
      one.status = SIGKILL;
    } else if (m->says == WardenSays::ended) {
      one.ended = true;
      one.status = m->value;
    } else if (m->says == WardenSays::processes) {
      one.why = "ended by the sandbox: it started more than " + std::to_string(m->value) + " processes";
    } else if (m->says == WardenSays::memory) {
      one.why = "ended by the sandbox: it used more than " + std::to_string(m->value) + " MiB of memory";
    }
  }
}

bool SandboxSpawner::finished(Running& one) {
  if (one.warden >= 0) close(one.warden);
  one.warden = -1;
  // bwrap ends when the first process of the sandbox has ended, and that takes all others with it. Without
  // namespaces the warden ends all others, and then itself.
  return waitpid(one.first, nullptr, WNOHANG) != 0;
}

bool SandboxSpawner::exited(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(pid);
  if (at == all_.end()) return true;
  listen(at->second);
  return at->second.ended;
}

bool SandboxSpawner::reap(pid_t pid, int& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(pid);
  if (at == all_.end()) return true;
  Running& one = at->second;
  listen(one);
  if (!one.ended || !finished(one)) return false;
  status = one.status;
  all_.erase(at);
  return true;
}

std::string SandboxSpawner::ended_it(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(pid);
  if (at == all_.end()) return {};
  listen(at->second);
  return at->second.why;
}

bool SandboxSpawner::ended_with_it(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(pid);
  return at != all_.end() && at->second.gone;
}

void SandboxSpawner::expects_shared(pid_t pid, std::int64_t mib) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = all_.find(pid);
  if (at == all_.end() || at->second.warden < 0) return;
  const WardenMessage m{WardenSays::shared, static_cast<std::int32_t>(mib)};
  ::send(at->second.warden, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::shared_ptr<Parent> worker_parent(const Command& command, Reach reach, bool sandbox,
                                      const std::string& kernel) {
  // An interpreter may compile what it runs, and a driver what was compiled for another device.
  const bool compiles = command.library >= 0 || reach == Reach::device;
  Sandbox how;
  if (sandbox) how = sandbox_of(reach, compiles ? std::optional(kernel) : std::nullopt);
  if (how.guard == Guard::none) return std::make_shared<Spawner>(command);
  return std::make_shared<SandboxSpawner>(how, warden_executable(command.words[0]), command);
}

}  // namespace assay::isolation
