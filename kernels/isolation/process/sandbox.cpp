// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/sandbox.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/isolation/process/child.hpp"
#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/shared/confinement.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

/// Files that a worker writes go to this folder, which ends with it. It may hold this many bytes.
constexpr const char* kScratch = "/dev/shm";
constexpr const char* kScratchBytes = "1073741824";
/// How long `bwrap` gets to show that it works.
constexpr int kTrialMs = 10000;

std::string found_on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/" + program; !folder.empty() && access(file.c_str(), X_OK) == 0)
      return file;
  return {};
}

/// True if the path lies in the folder.
bool inside(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

/// What workers load (sandbox_shows): folders, and files.
struct Shown {
  std::mutex mutex;
  std::set<std::string> places;
  std::set<std::string> kept;  // folders that they never write (sandbox_keeps)
};
Shown& shown() {
  static Shown all;
  return all;
}

std::set<std::string> kept_folders() {
  const std::lock_guard<std::mutex> lock(shown().mutex);
  return shown().kept;
}

/// True if one that may be written could not be without one of these.
bool holds_kept(const std::string& folder) {
  std::error_code ignored;
  const std::string whole = fs::canonical(folder, ignored).string();
  return std::ranges::any_of(kept_folders(), [&](const std::string& kept) {
    return kept == whole || inside(kept, whole) || inside(whole, kept);
  });
}

/// A folder for what the workers of one kernel compile: all of them find it there, and those of another
/// kernel do not. It ends with this process. Empty if none can be made.
std::string compiled(const std::string& kernel) {
  static struct Folders {
    Folders() {
      path = (fs::temp_directory_path() / "assay-compiled-XXXXXX").string();
      if (!mkdtemp(path.data())) path.clear();
    }
    ~Folders() {
      std::error_code ignored;
      if (!path.empty()) fs::remove_all(path, ignored);
    }
    std::string path;
    std::mutex mutex;
    std::map<std::string, std::string> of;
  } all;
  if (all.path.empty()) return {};
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.of.try_emplace(kernel, all.path + "/" + std::to_string(all.of.size())).first->second;
}

using CompilerFolders = std::vector<std::pair<std::string, std::string>>;

/// Where compilers that run in a worker keep what they have made: where this process says, or in a folder
/// that ends with it. The folders are there.
CompilerFolders folders_of_compilers(const std::string& kernel) {
  CompilerFolders folders;
  for (const char* const name : {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "NUMBA_CACHE_DIR",
                                 "CUDA_CACHE_PATH", "XDG_CACHE_HOME"}) {
    // The user's caches of other programs stay as they are.
    const char* const own = std::string_view(name) == "XDG_CACHE_HOME" ? nullptr : std::getenv(name);
    std::error_code ignored;
    const std::string folder = own && *own ? fs::absolute(own, ignored).string() : compiled(kernel);
    if (folder.empty()) continue;
    fs::create_directories(folder, ignored);
    folders.emplace_back(name, folder);
  }
  return folders;
}

/// Places that workers load from although their folder is empty for them.
std::set<std::string> needed_places() {
  std::error_code ignored;
  std::set<std::string> needed = {fs::current_path(ignored).string(),
                                  fs::read_symlink("/proc/self/exe", ignored).parent_path().string()};
  const std::lock_guard<std::mutex> lock(shown().mutex);
  needed.insert(shown().places.begin(), shown().places.end());
  return needed;
}

std::vector<std::string> words_of(const std::string& bwrap, Reach reach, const CompilerFolders& environment) {
  std::vector<std::string> words = {bwrap, "--die-with-parent", "--new-session",
                                    // It keeps the worker of a GPU, whose /proc is not read-only, from the
                                    // memory of others.
                                    reach == Reach::device ? "--unshare-user" : "--unshare-user-try",
                                    "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--ro-bind",
                                    "/", "/"};
  const auto add = [&](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  // Sockets in /run reach programs outside, such as a container engine, although the files are read-only.
  std::error_code ignored;
  if (fs::is_directory("/run", ignored)) add({"--tmpfs", "/run"});
  add({"--dev", "/dev", "--size", kScratchBytes, "--tmpfs", kScratch});
  for (const std::string& place : needed_places())
    if (inside(place, "/run") || inside(place, kScratch)) add({"--ro-bind", place.c_str(), place.c_str()});
  for (const auto& [name, folder] : environment)
    add({"--bind-try", folder.c_str(), folder.c_str(), "--setenv", name.c_str(), folder.c_str()});
  // After all that may be written: what comes later counts.
  for (const std::string& folder : kept_folders()) add({"--ro-bind-try", folder.c_str(), folder.c_str()});
  if (reach == Reach::device) {
    // The names of all device files of the driver begin like this.
    for (const auto& entry : fs::directory_iterator("/dev", ignored))
      if (entry.path().filename().string().starts_with("nvidia"))
        add({"--dev-bind", entry.path().c_str(), entry.path().c_str()});
    add({"--dev-bind-try", "/run/nvidia-persistenced", "/run/nvidia-persistenced"});
    // CUDA does not start where it can not write to /proc/self/task.
    add({"--bind", "/proc", "/proc"});
  } else {
    add({"--unshare-pid", "--unshare-ipc", "--proc", "/proc"});
  }
  // Settings of the whole machine, which root may write even without capabilities.
  for (const char* const place :
       {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi",
        "/proc/mtrr", "/proc/driver", "/proc/pressure", "/proc/dynamic_debug"})
    add({"--ro-bind-try", place, place});
  if (fs::is_directory("/run", ignored)) add({"--remount-ro", "/run"});
  add({"--remount-ro", "/dev", "--cap-drop", "ALL"});
  add({"--setenv", "TMPDIR", kScratch});
  return words;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Runs a command that must end with 0. Returns why it does not, or empty.
std::string trial(std::vector<std::string> words) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return std::strerror(errno);
  pid_t pid = 0;
  const int error = start({.words = std::move(words), .descriptors = {{0, 1}, {out[1], 2}}}, pid);
  close(out[1]);
  std::string said;
  if (error == 0) {
    char buffer[1024];
    pollfd watched{out[0], POLLIN, 0};
    ssize_t n = 1;
    while (n > 0 && poll(&watched, 1, kTrialMs) > 0 && (n = read(out[0], buffer, sizeof buffer)) > 0)
      said.append(buffer, static_cast<std::size_t>(n));
    if (n > 0) kill(pid, SIGKILL);
    if (status_of(pid) == 0)
      said.clear();
    else if (n > 0)
      said = "it does not answer";
    else
      said = said.empty() ? "it fails" : first_line(said);
  } else {
    said = std::strerror(error);
  }
  close(out[0]);
  return said;
}

/// What holds a worker of this reach by Landlock.
Confinement confinement_of(Reach reach, int landlock) {
  Confinement c{reach == Reach::device ? Uses::gpu : Uses::host, landlock};
  for (const std::string& place : needed_places())
    if (inside(place, "/dev")) c.shown.push_back(place);
  return c;
}

/// The words of this program that run another one as `confinement` says.
std::vector<std::string> confined_program(const std::string& own, const Confinement& confinement) {
  std::vector<std::string> words = {own, "worker", "program"};
  const std::vector<std::string> told = words_of(confinement);
  words.insert(words.end(), told.begin(), told.end());
  return words;
}

struct Tried {
  std::string bwrap;                  // empty if it does not work
  int landlock = 0;                   // the version of its rules; 0 if it does not work, or was not tried
  std::string no_bwrap, no_landlock;  // why not
  Guard guard() const {
    return !bwrap.empty() ? Guard::bubblewrap : landlock > 0 ? Guard::landlock : Guard::none;
  }
};

Tried tried_now(Reach reach) {
  Tried t;
  if (!can_refuse_calls()) {
    t.no_bwrap = t.no_landlock = "this machine can not refuse single system calls (seccomp)";
    return t;
  }
  const std::string bwrap = missing().bubblewrap ? "" : found_on_path("bwrap");
  if (bwrap.empty()) {
    t.no_bwrap = "it is not installed (Debian: apt-get install bubblewrap)";
  } else {
    std::vector<std::string> words = words_of(bwrap, reach, {});
    words.insert(words.end(), {"--", "true"});
    t.no_bwrap = trial(words);
    if (t.no_bwrap.empty()) t.bwrap = bwrap;
  }
  if (!t.bwrap.empty()) return t;
  const int version = std::min<int>(landlock_version(), missing().landlock_after);
  const std::string own = warden_executable("");
  t.no_landlock = version < 1   ? "the operating system has none (Linux 5.13, switched on)"
                  : own.empty() ? "there is no `assay` beside this program that could use it"
                                : trial(confined_program(own, confinement_of(reach, version)));
  if (t.no_landlock.empty()) t.landlock = version;
  return t;
}

/// Tried once, at the first use.
const Tried& tried(Reach reach) {
  static std::mutex mutex;
  static std::map<std::tuple<Reach, bool, int>, Tried> all;
  const std::tuple key(reach, missing().bubblewrap.load(), missing().landlock_after.load());
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = all.find(key);
  return known != all.end() ? known->second : all.emplace(key, tried_now(reach)).first->second;
}

}  // namespace

std::set<std::string> shown_places() {
  const std::lock_guard<std::mutex> lock(shown().mutex);
  return shown().places;
}

void sandbox_shows(const std::string& file) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(file, ignored), folder = whole.parent_path();
  const std::lock_guard<std::mutex> lock(shown().mutex);
  // Of a folder that must be empty only the file itself is shown.
  shown().places.insert((folder == kScratch || folder == "/run" ? whole : folder).string());
}

void sandbox_keeps(const std::string& folder) {
  std::error_code ignored;
  const std::string whole = fs::canonical(folder, ignored).string();
  if (whole.empty()) return;
  const std::lock_guard<std::mutex> lock(shown().mutex);
  shown().kept.insert(whole);
}

Sandbox sandbox_of(Reach reach, const std::optional<std::string>& compiles) {
  if (!sandbox_wanted()) return {};
  const Tried& t = tried(reach);
  Sandbox sandbox{t.guard()};
  if (sandbox.guard == Guard::none) return sandbox;
  if (compiles) sandbox.environment = folders_of_compilers(*compiles);
  if (sandbox.guard == Guard::landlock) {
    Confinement confinement = confinement_of(reach, t.landlock);
    for (auto& [name, folder] : sandbox.environment) {
      // Landlock can take no folder out of another one.
      if (holds_kept(folder)) folder = compiled(*compiles);
      confinement.writable.push_back(folder);
    }
    sandbox.told = words_of(confinement);
    return sandbox;
  }
  sandbox.front = words_of(t.bwrap, reach, std::exchange(sandbox.environment, {}));
  // Else `bwrap` would be the first process, and the warden the second.
  if (reach == Reach::host) sandbox.front.emplace_back("--as-pid-1");
  sandbox.front.emplace_back("--");
  return sandbox;
}

std::vector<std::string> program_words() {
  if (!sandbox_wanted()) return {};
  const Tried& t = tried(Reach::host);
  if (t.guard() == Guard::none) return {};
  std::error_code ignored;
  const std::string own = fs::canonical(worker_executable(""), ignored).string();
  if (t.guard() == Guard::landlock) return confined_program(own, confinement_of(Reach::host, t.landlock));
  std::vector<std::string> words = words_of(t.bwrap, Reach::host, {});
  // It refuses the program what a worker is refused.
  words.insert(words.end(), {"--", own, "worker", "program"});
  return words;
}

std::vector<std::string> compiler_words(const std::string& writable, const std::vector<std::string>& places) {
  if (!sandbox_wanted()) return {};
  const Tried& t = tried(Reach::host);
  if (t.guard() == Guard::none) return {};
  std::error_code ignored;
  const std::string own = fs::canonical(worker_executable(""), ignored).string();
  if (t.guard() == Guard::landlock) {
    Confinement confinement = confinement_of(Reach::host, t.landlock);
    confinement.scratch = writable;
    confinement.compiles = true;
    for (const std::string& place : places)
      if (inside(place, "/dev")) confinement.shown.push_back(place);
    return confined_program(own, confinement);
  }
  std::vector<std::string> words = words_of(t.bwrap, Reach::host, {});
  std::vector<std::string> binds;
  for (const std::string& place : places)
    if (inside(place, "/run") || inside(place, kScratch))
      binds.insert(binds.end(), {"--ro-bind", place, place});
  // Before /run is made read-only, and after both are empty.
  words.insert(std::find(words.begin(), words.end(), kScratch) + 1, binds.begin(), binds.end());
  // Its folder lies in one that workers never write.
  words.insert(words.end(), {"--bind", writable, writable, "--setenv", "TMPDIR", writable, "--", own,
                             "worker", "program"});
  return words;
}

Reach widest_reach() { return unavailable_reason(Backend::cuda).empty() ? Reach::device : Reach::host; }

Guard guard_of(Reach reach) { return sandbox_wanted() ? tried(reach).guard() : Guard::none; }

std::string guard_words(Reach reach) {
  if (!sandbox_wanted()) return "--no-sandbox";
  const Tried& t = tried(reach);
  switch (t.guard()) {
    case Guard::bubblewrap:
      return "bubblewrap";
    case Guard::landlock:
      return "Landlock and seccomp (bwrap: " + t.no_bwrap + ")";
    case Guard::none:
      break;
  }
  return "bwrap: " + t.no_bwrap + "; Landlock: " + t.no_landlock;
}

Missing& missing() {
  static Missing all;
  return all;
}

std::atomic<bool>& sandbox_wanted() {
  static std::atomic<bool> wanted{true};
  return wanted;
}

}  // namespace assay::isolation
