// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/confinement.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "kernels/isolation/shared/landlock.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

constexpr const char *kConfined = "--confined", *kWrite = "--write", *kShow = "--show", *kHide = "--hide",
                     *kScratchWord = "--scratch", *kCompiles = "--compiles", *kEnd = "--";

/// Root's rights are gone for good, also for programs that it starts. A user's, who has none, stay as they
/// are.
bool drop_capabilities() {
  prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) continue;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &head, none) == 0;
}

/// True if a call that must fail has failed because it is refused.
bool refused(long result) { return result < 0 && (errno == EACCES || errno == EPERM); }

}  // namespace

std::vector<std::string> words_of(const Confinement& confinement) {
  std::vector<std::string> words = {kConfined, confinement.uses == Uses::gpu ? "gpu" : "host",
                                    std::to_string(confinement.landlock)};
  for (const std::string& place : confinement.writable) words.insert(words.end(), {kWrite, place});
  for (const std::string& place : confinement.hidden) words.insert(words.end(), {kHide, place});
  for (const std::string& place : confinement.shown) words.insert(words.end(), {kShow, place});
  if (!confinement.scratch.empty()) words.insert(words.end(), {kScratchWord, confinement.scratch});
  if (confinement.compiles) words.emplace_back(kCompiles);
  words.emplace_back(kEnd);
  return words;
}

std::optional<Confinement> take_confinement(const char* const*& command) {
  if (!command[0] || std::string_view(command[0]) != kConfined || !command[1] || !command[2]) return {};
  Confinement c;
  c.uses = std::string_view(command[1]) == "gpu" ? Uses::gpu : Uses::host;
  c.landlock = std::atoi(command[2]);
  for (command += 3; command[0] && std::string_view(command[0]) != kEnd; ++command) {
    const std::string_view word = command[0];
    if (word == kCompiles) c.compiles = true;
    if (word == kScratchWord && command[1]) c.scratch = *++command;
    if ((word == kWrite || word == kShow || word == kHide) && command[1])
      (word == kWrite ? c.writable : word == kHide ? c.hidden : c.shown).emplace_back(*++command);
  }
  if (command[0]) ++command;
  return c;
}

bool confine_to(const Confinement& confinement) {
  Places places{confinement.writable, confinement.hidden, confinement.shown};
  places.hidden.emplace_back("/dev");
  for (const char* const device : {"null", "zero", "full", "random", "urandom"})
    places.writable.push_back(std::string("/dev/") + device);
  if (confinement.uses == Uses::gpu) {
    // The names of all device files of the driver begin like this.
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/dev", ignored))
      if (entry.path().filename().string().starts_with("nvidia"))
        places.writable.push_back(entry.path().string());
    // CUDA gives its threads names when it starts: task/N/comm.
    places.writable.emplace_back("/proc/self/task");
  }
  return drop_capabilities() && keep_to(places, confinement.landlock) &&
         refuse_calls(confinement.uses, Alone{confinement.landlock, confinement.compiles});
}

std::string not_held(const std::string& scratch) {
  const int own = open((scratch + "/own").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (own < 0) return "its scratch folder can not be written";
  close(own);
  const std::string outside = scratch + "-outside";
  const int file = open(outside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) unlink(outside.c_str());
  if (!refused(file)) return "files outside of its scratch folder can be written";
  const std::string parent = "/proc/" + std::to_string(getppid()) + "/mem";
  if (!refused(open(parent.c_str(), O_RDWR | O_CLOEXEC)))
    return "the memory of other processes can be written";
  if (!refused(kill(getppid(), 0))) return "other processes can be sent signals";
  if (!refused(chmod(scratch.c_str(), 0700))) return "the rights of files can be changed";
  if (!refused(socket(AF_INET, SOCK_STREAM, 0))) return "the network can be reached";
  return {};
}

std::string make_scratch() {
  std::error_code ignored;
  std::string folder = (fs::temp_directory_path(ignored) / "tmp.XXXXXXXXXX").string();
  return !ignored && mkdtemp(folder.data()) ? folder : std::string();
}

void remove_scratch(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return;
  // Folders without rights hold others.
  fs::permissions(folder, fs::perms::owner_all, error);
  for (auto at = fs::recursive_directory_iterator(folder, error); !error && at != fs::end(at);
       at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error)) {
      std::error_code ignored;
      fs::permissions(at->path(), fs::perms::owner_all, ignored);
    }
  fs::remove_all(folder, error);
}

}  // namespace assay::isolation
