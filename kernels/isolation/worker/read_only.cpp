// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/read_only.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
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
constexpr std::uint64_t kWriteFile = 1u << 1;
/// To link and rename files between folders. Every set of rules forbids that where no rule allows it, and
/// version 1 can not allow it.
constexpr std::uint64_t kRefer = 1u << 13;
constexpr int kFirstWithRefer = 2;
constexpr std::uint64_t kScopeSignals = 1u << 1;
constexpr int kFirstWithScopes = 6;

struct Handled {
  std::uint64_t files = 0, network = 0, scopes = 0;
};
struct [[gnu::packed]] Beneath {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};

int version() {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, kAskVersion));
}

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

void allow(int rules, const std::string& place) {
  const int at = open(place.c_str(), O_PATH | O_CLOEXEC);
  if (at < 0) return;
  struct stat is {};
  Beneath rule;
  rule.folder = at;
  // A file may be mounted, too: a device's.
  rule.allowed = fstat(at, &is) == 0 && S_ISDIR(is.st_mode) ? kWriteFile | kRefer : kWriteFile;
  syscall(SYS_landlock_add_rule, rules, kPathBeneath, &rule, 0u);
  close(at);
}

}  // namespace

bool can_keep_read_only() { return version() >= kFirstWithRefer; }

void keep_read_only() {
  if (!can_keep_read_only()) return;
  Handled handled;
  handled.files = kWriteFile | kRefer;
  if (version() >= kFirstWithScopes) handled.scopes = kScopeSignals;
  const int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0u));
  if (rules < 0) return;
  for (const std::string& place : writable_mounts()) allow(rules, place);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(SYS_landlock_restrict_self, rules, 0u);
  close(rules);
}

}  // namespace assay::isolation
