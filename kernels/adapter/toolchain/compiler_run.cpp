// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/compiler_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "kernels/isolation/process/child.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/shared/memory_limit.hpp"
#include "reference/error.hpp"
#include "reference/file_writing.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kTimeout = "ASSAY_COMPILER_TIMEOUT";
constexpr int kUsualSeconds = 600, kPreprocessorSeconds = 60;
constexpr rlim_t kMostFile = rlim_t{1} << 30;
/// A compiler of 64 bits maps what it never uses.
constexpr std::int64_t kLeastMib = 4096;

/// Where compilers look for headers, libraries and more flags. LD_LIBRARY_PATH is for compilers that are
/// installed with libraries of their own.
constexpr std::string_view kInputs[] = {
    "CPATH",           "C_INCLUDE_PATH",     "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
    "LD_LIBRARY_PATH", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS",  "NVCC_CCBIN"};
constexpr std::string_view kPlaces[] = {"PATH", "HOME"};

int seconds_for_compilers() {
  const char* const text = std::getenv(kTimeout);
  if (!text) return kUsualSeconds;
  int n = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, n);
  if (read.ec != std::errc() || read.ptr != end || n < 1 || n > 1'000'000)
    throw InputError(std::string(kTimeout) + "=" + text + ": must be a number of seconds");
  return n;
}

std::int64_t memory_for_compilers() { return std::max(kLeastMib, isolation::most_memory()); }

/// Waits until the process has ended, or until then. False if it still runs.
bool ended_by(pid_t pid, Clock::time_point end) {
  const int watched = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // -1 before Linux 5.3
  bool ended = false;
  for (;;) {
    siginfo_t info{};
    ended =
        waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (ended || left <= 0) break;
    pollfd one{watched, POLLIN, 0};
    poll(&one, watched < 0 ? 0 : 1, static_cast<int>(std::min<std::int64_t>(left, watched < 0 ? 10 : 1000)));
  }
  if (watched >= 0) close(watched);
  return ended;
}

int opened(const fs::path& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw_unwritten(file, errno);
  return fd;
}

}  // namespace

std::vector<std::string> compiler_environment() {
  std::vector<std::string> all = isolation::kept_environment(kPlaces);
  for (std::string& one : isolation::kept_environment(isolation::kCudaVariables))
    all.push_back(std::move(one));
  for (std::string& one : compiler_inputs()) all.push_back(std::move(one));
  // Messages are read by this program. A compiler's cache of its own is not asked: nobody has hashed what it
  // holds.
  all.insert(all.end(), {"LC_ALL=C", "CCACHE_DISABLE=1"});
  return all;
}

std::vector<std::string> compiler_inputs() { return isolation::kept_environment(kInputs); }

int run_compiler(const CompilerRun& run) {
  const int seconds = run.only_preprocesses ? std::min(kPreprocessorSeconds, seconds_for_compilers())
                                            : seconds_for_compilers();
  std::vector<std::string> shown;
  for (const fs::path& folder : run.read) shown.push_back(folder.string());
  std::vector<std::string> words = isolation::compiler_words(run.writable.string(), shown);
  words.insert(words.end(), run.words.begin(), run.words.end());
  std::vector<std::string> environment = compiler_environment();
  environment.push_back("TMPDIR=" + run.writable.string());
  environment.push_back("SOURCE_DATE_EPOCH=" + std::to_string(run.moment));
  const auto bytes = static_cast<rlim_t>(run.only_preprocesses ? kLeastMib : memory_for_compilers()) << 20;
  const int log = opened(run.log), out = run.out.empty() ? log : opened(run.out);
  pid_t pid = 0;
  const int error = isolation::start({.words = std::move(words),
                                      .environment = std::move(environment),
                                      .descriptors = {{out, 1}, {log, 2}},
                                      .apart = true,
                                      .with_parent = SIGKILL,
                                      .limits = {{RLIMIT_CORE, 0},
                                                 {RLIMIT_FSIZE, kMostFile},
                                                 {RLIMIT_CPU, static_cast<rlim_t>(seconds)},
                                                 {RLIMIT_AS, bytes}}},
                                     pid);
  close(log);
  if (out != log) close(out);
  if (error != 0) throw InputError(run.words[0] + ": cannot be started: " + std::strerror(error));

  const bool ended = ended_by(pid, Clock::now() + std::chrono::seconds(seconds));
  kill(-pid, SIGKILL);  // and what it has left running
  const int status = isolation::status_of(pid);
  const bool too_long = !ended || status == 128 + SIGXCPU;
  if (too_long)
    throw InputError("the compiler was ended after " + std::to_string(seconds) + " s (" +
                     (run.only_preprocesses && seconds == kPreprocessorSeconds ? "it read the file's includes"
                                                                               : kTimeout) +
                     ")");
  return status;
}

std::string start_of_log(const fs::path& log) {
  constexpr std::size_t kMost = std::size_t{8} << 20;
  std::ifstream in(log, std::ios::binary);
  std::string text(kMost, '\0');
  in.read(text.data(), static_cast<std::streamsize>(kMost));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

std::string over_a_limit(const std::string& log, int status) {
  const auto says = [&](std::initializer_list<std::string_view> all) {
    return std::any_of(all.begin(), all.end(),
                       [&](std::string_view one) { return log.find(one) != log.npos; });
  };
  if (status == 128 + SIGXFSZ ||
      says({"File size limit exceeded", "file size limit exceeded", "File too large"}))
    return "the compiler was ended: it wrote more than 1 GiB";
  if (says({"out of memory", "virtual memory exhausted", "memory exhausted", "Cannot allocate memory",
            "bad_alloc"}))
    return "the compiler was ended: it used too much memory (ASSAY_WORKER_MEMORY)";
  if (says({"CPU time limit exceeded"}))
    return std::string("the compiler was ended after ") + std::to_string(seconds_for_compilers()) + " s (" +
           kTimeout + ")";
  return {};
}

Scratch::Scratch(const fs::path& below) {
  std::string name = (below / "scratch-XXXXXX").string();
  if (!mkdtemp(name.data())) throw_unwritten(name, errno);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace assay
