// SPDX-License-Identifier: Apache-2.0
// Candidates that nobody should trust: each gets the record that the comment above it expects, and leaves
// nothing behind (kernels/isolation/hostile/).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/shared/confinement.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay::conformance {
namespace {

namespace fs = std::filesystem;

/// So many candidates there are at least, and so many that may run without a sandbox.
constexpr int kAll = 42, kHarmless = 23;

struct Expected {
  std::string name;
  std::string status;  // "pass", or as in a record; "refused": it can not be loaded
  std::string cause;   // as in a record
  std::string words;   // that the reason contains
  bool only_in_a_sandbox = false;

  /// True if only a warden that counts what the candidate uses ends it.
  bool needs_counting() const { return words.starts_with("ended by the sandbox"); }
};

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

/// Reads the comment above a candidate.
Expected expected_of(const std::string& name, const std::string& head) {
  Expected e;
  e.name = name;
  const std::string line = between(head, "expects: ", "\n");
  std::istringstream words(line.substr(0, line.find('"')));
  words >> e.status >> e.cause;
  e.words = between(line, "\"", "\"");
  e.only_in_a_sandbox = head.find("only in a sandbox") != std::string::npos;
  return e;
}

std::vector<Expected> candidates() {
  const std::string begin = "\n#ifdef IS_";
  std::vector<Expected> all;
  for (const auto& entry : fs::directory_iterator(ASSAY_HOSTILE_SOURCES)) {
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++at) {
      const std::size_t head = text.rfind("/*", at), end = text.rfind("*/", at);
      all.push_back(expected_of(between(text.substr(at), begin, "\n"), text.substr(head, end - head)));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

/// A file that the candidates know of, and may neither change nor keep open.
class Trace {
 public:
  Trace() : path_(fs::temp_directory_path() / ("assay-hostile-trace-" + std::to_string(getpid()))) {
    std::ofstream(path_) << kText;
    EXPECT_EQ(lstat(path_.c_str(), &before_), 0);
    setenv("ASSAY_HOSTILE_TRACE", path_.c_str(), 1);
    setenv("ASSAY_KEEP_ENV", "ASSAY_HOSTILE_*", 1);
  }
  ~Trace() {
    unsetenv("ASSAY_HOSTILE_TRACE");
    unsetenv("ASSAY_KEEP_ENV");
    fs::remove(path_);
  }
  bool intact() const {
    std::ifstream in(path_);
    struct stat now {};
    if (lstat(path_.c_str(), &now) != 0 || now.st_ino != before_.st_ino || now.st_mode != before_.st_mode ||
        now.st_uid != before_.st_uid || now.st_nlink != 1 || now.st_mtim.tv_sec != before_.st_mtim.tv_sec)
      return false;
    return std::string((std::istreambuf_iterator<char>(in)), {}) == kText;
  }
  /// True if no process holds a lock on it.
  bool is_free() const {
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool free = file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    close(file);
    return free;
  }

 private:
  static constexpr const char* kText = "as it was\n";
  const fs::path path_;
  struct stat before_ {};
};

/// Sockets of this process that have a name but no file, and one that listens to the internet's protocol. And
/// this process itself.
class Listener {
 public:
  Listener() : name_("assay-hostile-" + std::to_string(getpid())) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name_.copy(at.sun_path + 1, sizeof at.sun_path - 2);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&at),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size())),
              0);
    EXPECT_EQ(listen(socket_, 1), 0);
    setenv("ASSAY_HOSTILE_SOCKET", name_.c_str(), 1);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    EXPECT_EQ(bind(tcp_, reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
    EXPECT_EQ(listen(tcp_, 1), 0);
    EXPECT_EQ(getsockname(tcp_, reinterpret_cast<sockaddr*>(&here), &length), 0);
    setenv("ASSAY_HOSTILE_PORT", std::to_string(ntohs(here.sin_port)).c_str(), 1);
    setenv("ASSAY_HOSTILE_JUDGE", std::to_string(getpid()).c_str(), 1);
  }
  ~Listener() {
    for (const char* const name : {"ASSAY_HOSTILE_SOCKET", "ASSAY_HOSTILE_PORT", "ASSAY_HOSTILE_JUDGE"})
      unsetenv(name);
    close(socket_);
    close(tcp_);
  }

 private:
  const int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int tcp_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string name_;
};

/// Sockets and a pipe of this process that have files, in a folder that no sandbox hides.
class Reachable {
 public:
  Reachable() {
    EXPECT_EQ(listen(stream_, 1), 0);
    setenv("ASSAY_HOSTILE_STREAM", (folder_.path() / kStream).c_str(), 1);
    setenv("ASSAY_HOSTILE_DATAGRAMS", (folder_.path() / kDatagrams).c_str(), 1);
    if (!isolation::can_keep_read_only()) {
      std::printf("a named pipe is not tried: this machine has no Landlock\n");
      return;
    }
    const fs::path pipe = folder_.path() / "pipe";
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    // Opening for writing would fail if nobody read.
    reader_ = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    setenv("ASSAY_HOSTILE_PIPE", pipe.c_str(), 1);
  }
  ~Reachable() {
    for (const char* const name : {"ASSAY_HOSTILE_STREAM", "ASSAY_HOSTILE_DATAGRAMS", "ASSAY_HOSTILE_PIPE"})
      unsetenv(name);
    for (const int fd : {stream_, datagrams_, reader_}) close(fd);
  }

 private:
  static constexpr const char *kStream = "stream", *kDatagrams = "datagrams";
  int bound(int type, const char* name) const {
    const int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    const fs::path file = folder_.path() / name;
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    file.string().copy(at.sun_path, sizeof at.sun_path - 1);
    EXPECT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0) << file;
    return made;
  }
  const TestFolder folder_;
  const int stream_ = bound(SOCK_STREAM, kStream);
  const int datagrams_ = bound(SOCK_DGRAM, kDatagrams);
  int reader_ = -1;
};

/// The files that candidates have written outside their sandbox.
std::vector<std::string> litter() {
  std::vector<std::string> all;
  const char* const home = getenv("HOME");
  for (const char* const folder : {".", "/tmp", "/var/tmp", home ? home : "."}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().filename().string().starts_with("assay-hostile-") &&
          entry.path().filename().string().find("trace") == std::string::npos)
        all.push_back(entry.path().string());
  }
  return all;
}

/// One case in workers of its own. Empty if the library can not be loaded; then `refusal` says why.
std::optional<Record> judged(const Expected& e, IsolationOptions options, std::string& refusal) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes"};
  o.narrow.V = 33;
  o.narrow.rows = 2;
  o.threads = 1;
  try {
    // What has to use much before it is ended gets the time for it, on a busy machine too.
    options.timeout_seconds = e.needs_counting() ? 20 : 0.3;
    const auto made = load_plugin(std::string(ASSAY_FIXTURES) + "/hostile_" + e.name + ".so", options);
    return run_conformance([&] { return made.at(0); }, o).records.at(0);
  } catch (const InputError& refused) {
    refusal = refused.what();
    return {};
  }
}

void expect_record(const Expected& e, const IsolationOptions& options) {
  SCOPED_TRACE(e.name + (options.sandbox ? "" : ", without a sandbox") +
               (options.as_on_a_gpu ? ", as on a GPU" : ""));
  std::string refusal;
  const std::optional<Record> r = judged(e, options, refusal);
  ASSERT_EQ(e.status == "refused", !r) << refusal;
  std::string reason = r ? r->reason : refusal;
  if (r)
    for (const CheckResult& c : r->checks)
      if (c.failed > 0) reason += "; " + std::string(name(c.check)) + ": " + c.detail;
  EXPECT_NE(reason.find(e.words), std::string::npos) << reason;
  if (!r) return;
  EXPECT_EQ(e.status, name(r->status)) << r->reason;
  // Where bubblewrap is installed and may make no namespaces, as in a container, it is Landlock.
  const isolation::Reach reach = options.as_on_a_gpu ? isolation::Reach::device : isolation::widest_reach();
  EXPECT_EQ(r->where, !options.sandbox                                  ? Where::not_sandboxed
                      : isolation::guard_of(reach) == Guard::bubblewrap ? Where::sandbox
                                                                        : Where::landlock);
  if (!e.cause.empty()) {
    EXPECT_EQ(e.cause, name(cause_of(*r))) << r->reason;
  }
}

#define ASSAY_NEEDS_HOSTILE()                                                  \
  if (!fs::exists(std::string(ASSAY_FIXTURES) + "/hostile_kills_parent.so") || \
      !fs::exists(ASSAY_HOSTILE_SOURCES))                                      \
  GTEST_SKIP() << "the candidates are not on this machine"

/// All candidates, in workers as `options` say.
void expect_all(const IsolationOptions& options, const std::string& why) {
  const Trace trace;
  const Listener listener;
  const Reachable reachable;
  // More than 256 processes of the fork bomb take, so that it is their number that ends it.
  setenv("ASSAY_WORKER_MEMORY", "1024", 1);
  ASSERT_EQ(litter(), std::vector<std::string>{});
  int tried = 0;
  for (const Expected& e : candidates()) {
    ASSERT_NE(e.status, "") << e.name << ": its head expects nothing";
    if (!why.empty() && e.only_in_a_sandbox) continue;
    ++tried;
    expect_record(e, options);
    EXPECT_TRUE(trace.intact()) << e.name;
    EXPECT_TRUE(trace.is_free()) << e.name << " has left a process";
    EXPECT_EQ(litter(), std::vector<std::string>{}) << e.name;
  }
  unsetenv("ASSAY_WORKER_MEMORY");
  EXPECT_GE(tried, why.empty() ? kAll : kHarmless);
}

/// While it lives, this machine has no bubblewrap.
class WithoutBubblewrap {
 public:
  WithoutBubblewrap() { isolation::missing().bubblewrap = true; }
  ~WithoutBubblewrap() {
    isolation::missing().bubblewrap = false;
    isolation::missing().landlock_after = 1 << 20;
  }
};

TEST(Hostile, EachGetsItsRecordAndLeavesNothing) {
  ASSAY_NEEDS_HOSTILE();
  const std::string why = why_not_sandboxed();
  if (!why.empty())
    std::printf("only candidates that are harmless without a sandbox are tried: %s\n", why.c_str());
  expect_all({.sandbox = why.empty()}, why);
}

/// Landlock and seccomp hold them as well, on the host and where a GPU is used.
TEST(Hostile, NoneReachesMoreWithoutBubblewrap) {
  ASSAY_NEEDS_HOSTILE();
  const WithoutBubblewrap hidden;
  if (isolation::guard_of(isolation::Reach::host) != Guard::landlock)
    GTEST_SKIP() << isolation::guard_words(isolation::Reach::host);
  expect_all({}, "");
  expect_all({.as_on_a_gpu = true}, "");
}

/// The same with what the first versions of Landlock hold: seccomp holds the rest.
TEST(Hostile, AnOlderLandlockHoldsThemToo) {
  ASSAY_NEEDS_HOSTILE();
  const WithoutBubblewrap hidden;
  isolation::missing().landlock_after = 1;
  if (isolation::guard_of(isolation::Reach::host) != Guard::landlock)
    GTEST_SKIP() << isolation::guard_words(isolation::Reach::host);
  expect_all({}, "");
}

/// The worker of a GPU shares its process namespace with the machine. What it starts is found and ended all
/// the same, and what it reaches for there it does not reach.
TEST(Hostile, WhereAGpuIsUsedProcessesAndMemoryAreCountedToo) {
  ASSAY_NEEDS_HOSTILE();
  if (isolation::guard_of(isolation::Reach::device) == Guard::none)
    GTEST_SKIP() << isolation::guard_words(isolation::Reach::device);
  const Trace trace;
  const Reachable reachable;
  setenv("ASSAY_WORKER_MEMORY", "1024", 1);
  int tried = 0;
  for (const Expected& e : candidates()) {
    if (!e.needs_counting() && e.name != "leaves_daemons" && e.name != "connects_to_a_file" &&
        e.name != "writes_into_a_pipe")
      continue;
    ++tried;
    expect_record(e, {.as_on_a_gpu = true});
    EXPECT_TRUE(trace.is_free()) << e.name << " has left a process";
  }
  unsetenv("ASSAY_WORKER_MEMORY");
  EXPECT_EQ(tried, 6);
}

/// It ends its process in every seventh launch. Each of these passes when it is tried again.
TEST(Hostile, WhoEndsItsOwnProcessNowAndThenDoesNotPass) {
  ASSAY_NEEDS_HOSTILE();
  if (const std::string why = why_not_sandboxed(); !why.empty()) GTEST_SKIP() << why;
  if (isolation::widest_reach() == isolation::Reach::device)
    GTEST_SKIP() << "on a GPU the process namespace is shared, and nobody knows who sent a signal";
  if (isolation::guard_of(isolation::Reach::host) != Guard::bubblewrap)
    GTEST_SKIP() << "without a process namespace of its own nobody knows who sent a signal";
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes"};
  o.narrow.rows = 2;
  o.threads = 1;
  const auto made = load_plugin(std::string(ASSAY_FIXTURES) + "/hostile_dies_now_and_then.so");
  int crashed = 0, again = 0;
  for (const Record& r : run_conformance([&] { return made.at(0); }, o).records) {
    crashed += r.status == Status::crashed &&
               r.reason.starts_with("ended its own process by signal 9 (Killed) in more than 2 launches");
    again += r.status == Status::pass && !r.at_first.empty();
  }
  EXPECT_GE(crashed, 1);
  // A launch that measures a sum may be one of the two that are not held against it.
  EXPECT_GE(again, 1);
  EXPECT_LE(again, 2);
}

/// A run says that it was not sandboxed, and that is no secret of its records.
TEST(Hostile, WithoutASandboxTheRecordSaysSo) {
  ASSAY_NEEDS_HOSTILE();
  for (const Expected& e : candidates())
    if (e.name == "exits" || e.name == "writes_inputs") expect_record(e, {.sandbox = false});
}

}  // namespace
}  // namespace assay::conformance
