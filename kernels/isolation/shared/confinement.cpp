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

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Systems with older headers may have a newer kernel.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

namespace assay::isolation {
namespace {

// Source: Linux, Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;
constexpr std::uint64_t kWriteFile = 1u << 1, kReadFile = 1u << 2;
/// To remove folders and files, and to make files of every kind: bits 4 to 12.
constexpr std::uint64_t kRemoveAndMake = 0x1ff0;
/// To link and rename files between folders. Every set of rules forbids that where no rule allows it, and
/// version 1 can not allow it.
constexpr std::uint64_t kRefer = 1u << 13;
constexpr int kFirstWithRefer = 2;
constexpr std::uint64_t kTruncate = 1u << 14;
/// To ask a device for something by ioctl.
constexpr std::uint64_t kAskDevice = 1u << 15;
constexpr int kFirstWithAskDevice = 5;
/// What a file that is no folder may be allowed.
constexpr std::uint64_t kOfFiles = kWriteFile | kReadFile | kTruncate | kAskDevice;
/// To bind and to connect TCP sockets.
constexpr std::uint64_t kTcp = 3;
constexpr int kFirstWithTcp = 4;
constexpr std::uint64_t kScopeSockets = 1u << 0, kScopeSignals = 1u << 1;

struct Handled {
  std::uint64_t files = 0, network = 0, scopes = 0;
};
struct [[gnu::packed]] Beneath {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};

/// "\040" is a space.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  return plain;
}

/// The places where a mount that may be written begins.
std::vector<std::string> writable_mounts() {
  std::vector<std::string> all;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, at, options;
    fields >> id >> parent >> device >> root >> at >> options;
    if (options == "rw" || options.starts_with("rw,")) all.push_back(without_escapes(at));
  }
  return all;
}

/// Allows `rights` below the place. A file gets those that files have.
void allow(int rules, const std::string& place, std::uint64_t rights, int flags = 0) {
  const int at = open(place.c_str(), O_PATH | O_CLOEXEC | flags);
  if (at < 0) return;
  struct stat is {};
  Beneath rule;
  rule.folder = at;
  // A file may be mounted, too: a device's.
  rule.allowed = fstat(at, &is) == 0 && S_ISDIR(is.st_mode) ? rights : rights & kOfFiles;
  if (!S_ISLNK(is.st_mode)) syscall(SYS_landlock_add_rule, rules, kPathBeneath, &rule, 0u);
  close(at);
}

/// Allows files to be read in a folder and below, but not in those that are hidden. What is made later beside
/// a hidden folder, or in a folder around it, can not be read.
void allow_to_read(int rules, const std::string& folder, const std::vector<std::string>& hidden) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string place = entry.path().string();
    if (std::ranges::find(hidden, place) != hidden.end()) continue;
    if (std::ranges::any_of(hidden, [&](const std::string& one) { return one.starts_with(place + "/"); }))
      allow_to_read(rules, place, hidden);
    else
      allow(rules, place, kReadFile, O_NOFOLLOW);  // what a link leads to has a place of its own
  }
}

int new_rules(const Handled& handled, int version) {
  // Older systems take nothing of the members that they do not know.
  const std::size_t known = version >= kFirstWithScopes ? sizeof handled
                            : version >= kFirstWithTcp  ? offsetof(Handled, scopes)
                                                        : offsetof(Handled, network);
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, known, 0u));
}

bool give_up(int rules) {
  const bool done =
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, rules, 0u) == 0;
  close(rules);
  return done;
}

}  // namespace

int landlock_version() {
  return std::max(
      0, static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion)));
}

bool can_keep_read_only() { return landlock_version() >= kFirstWithRefer; }

void keep_read_only() {
  if (!can_keep_read_only()) return;
  Handled handled;
  handled.files = kWriteFile | kRefer;
  if (landlock_version() >= kFirstWithScopes) handled.scopes = kScopeSignals;
  const int rules = new_rules(handled, landlock_version());
  if (rules < 0) return;
  for (const std::string& place : writable_mounts()) allow(rules, place, kWriteFile | kRefer);
  give_up(rules);
}

bool keep_to(const Places& places, int version) {
  version = std::min(version, landlock_version());
  if (version < 1) return false;
  Handled handled;
  handled.files = kWriteFile | kReadFile | kRemoveAndMake;
  if (version >= kFirstWithRefer) handled.files |= kRefer;
  if (version >= kFirstWithTruncate) handled.files |= kTruncate;
  if (version >= kFirstWithAskDevice) handled.files |= kAskDevice;
  if (version >= kFirstWithTcp) handled.network = kTcp;
  if (version >= kFirstWithScopes) handled.scopes = kScopeSockets | kScopeSignals;
  const int rules = new_rules(handled, version);
  if (rules < 0) return false;
  allow_to_read(rules, "/", places.hidden);
  for (const std::string& place : places.shown) allow(rules, place, kReadFile);
  for (const std::string& place : places.writable) allow(rules, place, handled.files);
  return give_up(rules);
}

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
