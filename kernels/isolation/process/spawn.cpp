// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/isolation/process/child.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/shared/warden_message.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay::isolation {
namespace {

/// A larger file is not copied: each sandbox has a copy of its own.
constexpr std::int64_t kMostCopied = std::int64_t{256} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string identity_of(const struct stat& s) {
  return fmt::format("{} {} {} {}.{} {}.{}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

bool write_all(int file, const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(file, from, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

std::shared_ptr<const OpenedFile> OpenedFile::of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const OpenedFile>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<const OpenedFile>& known = all[path];
  if (auto in_use = known.lock()) return in_use;
  auto opened = std::make_shared<const OpenedFile>(path);
  known = opened;
  return opened;
}

OpenedFile::OpenedFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  if (const auto real = std::filesystem::canonical(path, ignored); !ignored) path_ = real.string();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat now {};
  if (file < 0 || fstat(file, &now) != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    throw InputError(path + ": can not be read: " + std::strerror(error));
  }
  identity_ = identity_of(now);
  if (now.st_size <= kMostCopied) copy_ = memfd_create("shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Sha256 hash;
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = read(file, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    hash.add({piece.data(), static_cast<std::size_t>(n)});
    if (copy_ >= 0 && !write_all(copy_, piece.data(), static_cast<std::size_t>(n))) {
      close(copy_);
      copy_ = -1;
    }
  }
  close(file);
  sha256_ = hash.hex();
  if (copy_ >= 0 &&
      fcntl(copy_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    close(copy_);
    copy_ = -1;
  }
}

OpenedFile::~OpenedFile() {
  if (copy_ >= 0) close(copy_);
}

int OpenedFile::open_copy() const {
  return copy_ < 0 ? -1 : open(fmt::format("/proc/self/fd/{}", copy_).c_str(), O_RDONLY | O_CLOEXEC);
}

bool OpenedFile::changed() const {
  struct stat now {};
  return stat(path_.c_str(), &now) != 0 || identity_of(now) != identity_;
}

bool has_worker_verb = false;

namespace {

/// While it lives, what this thread starts runs before other programs, if this user may ask for that (root
/// may). A warden must get the processor although a kernel has started thousands of processes.
class RunsFirst {
 public:
  RunsFirst() : policy_(sched_getscheduler(0)) {
    sched_getparam(0, &before_);
    sched_param first{};
    first.sched_priority = sched_get_priority_min(SCHED_FIFO);
    sched_setscheduler(0, SCHED_FIFO, &first);
  }
  ~RunsFirst() { sched_setscheduler(0, policy_, &before_); }
  RunsFirst(const RunsFirst&) = delete;
  RunsFirst& operator=(const RunsFirst&) = delete;

 private:
  int policy_;
  sched_param before_{};
};

/// The environment of kernels with more in it.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all = environment_of_kernels();
  for (const auto& [name, value] : more) {
    std::erase_if(all, [&, start = name + "="](const std::string& one) { return one.starts_with(start); });
    all.push_back(name + "=" + value);
  }
  return all;
}

int spawn_here(const Command& command, int socket, int output, pid_t& pid) {
  Child child{.words = command.words, .environment = environment_with(command.environment), .apart = true};
  child.descriptors = {{output, 1}, {output, 2}, {socket, kSocket}};
  const std::pair<int, int> more[] = {{command.library, kLibrary},
                                      {command.warden, kWarden},
                                      {command.copy, kCopy},
                                      {command.executable, kWardenExecutable}};
  std::ranges::copy_if(more, std::back_inserter(child.descriptors),
                       [](const auto& one) { return one.first >= 0; });
  std::optional<RunsFirst> first;
  if (command.warden >= 0) first.emplace();
  return isolation::start(child, pid);
}

/// The thread that starts all workers. It is never joined: it ends with the process.
class Starter {
 public:
  static Starter& instance() {
    static Starter* const starter = new Starter;
    return *starter;
  }
  int start(const std::function<int()>& work) {
    std::packaged_task<int()> task(work);
    std::future<int> result = task.get_future();
    {
      const std::lock_guard<std::mutex> one(caller_);
      std::unique_lock<std::mutex> lock(mutex_);
      task_ = &task;
      wake_.notify_one();
      taken_.wait(lock, [&] { return task_ == nullptr; });
    }
    return result.get();
  }

 private:
  Starter() {
    std::thread([this] {
      for (;;) {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return task_ != nullptr; });
        (*task_)();
        task_ = nullptr;
        taken_.notify_one();
      }
    }).detach();
  }
  std::mutex caller_, mutex_;
  std::condition_variable wake_, taken_;
  std::packaged_task<int()>* task_ = nullptr;
};

bool runnable(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// This executable, if it has the verb `worker`, or the `assay` beside it. Empty if there is none.
std::string own_executable(const std::filesystem::path& self) {
  if (has_worker_verb) return "/proc/self/exe";
  for (const char* beside : {"assay", "reports/assay", "../reports/assay", "../bin/assay"})
    if (runnable(self.parent_path() / beside)) return (self.parent_path() / beside).string();
  return {};
}

std::filesystem::path this_executable() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

}  // namespace

int spawn(const Command& command, int socket, int output, pid_t& pid) {
  return Starter::instance().start([&] { return spawn_here(command, socket, output, pid); });
}

int Spawner::start(int socket, int output, pid_t& pid) { return spawn(command_, socket, output, pid); }

bool Spawner::exited(pid_t pid) {
  siginfo_t info{};
  const int r = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return r != 0 || info.si_pid == pid;
}

bool Spawner::reap(pid_t pid, int& status) { return waitpid(pid, &status, WNOHANG) != 0; }

std::string worker_executable(const std::string& wanted) {
  const char* const from_environment = std::getenv("ASSAY_WORKER");
  if (!wanted.empty() || (from_environment && *from_environment)) {
    const std::string path = wanted.empty() ? from_environment : wanted;
    if (!runnable(path)) throw InputError(path + ": not an executable file (it was to be the worker)");
    return path;
  }
  const std::filesystem::path self = this_executable();
  if (std::string own = own_executable(self); !own.empty()) return own;
  throw InputError("no `assay` executable beside " + self.string() + " to run kernels in: set ASSAY_WORKER");
}

std::string warden_executable(const std::string& worker) {
  const std::string own = own_executable(this_executable());
  return own.empty() ? worker : own;
}

}  // namespace assay::isolation
