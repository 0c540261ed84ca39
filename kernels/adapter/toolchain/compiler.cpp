// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/compiler.hpp"

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
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/isolation/process/child.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/shared/memory_limit.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/paths.hpp"

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

namespace {

namespace fs = std::filesystem;

/// What was found out about a compiler by running it: which programs it has, and what it says.
struct Asked {
  std::string version;
  bool lists_linked = false;
  std::vector<std::string> programs;
};

std::string said_by(std::vector<std::string> words, std::initializer_list<const char*> more,
                    const Scratch& scratch) {
  words.insert(words.end(), more.begin(), more.end());
  const fs::path log = scratch.path() / "said";
  return run_compiler({.words = words, .writable = scratch.path(), .log = log, .only_preprocesses = true}) ==
                 0
             ? read_text(log)
             : std::string();
}

std::string version_in(const std::string& text) {
  std::istringstream in(text);
  std::string line, first;
  while (std::getline(in, line)) {
    if (first.empty()) first = line;
    if (line.find("release ") != line.npos) return line;  // nvcc gives its version further down
  }
  return first;
}

/// Where a link leads to.
std::string whole(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

void add_program(std::vector<std::string>& all, const std::string& path) {
  std::error_code error;
  if (!path.empty() && fs::is_regular_file(path, error)) all.push_back(whole(path));
}

void add_host_programs(std::vector<std::string>& all, const std::vector<std::string>& words,
                       const Scratch& scratch) {
  for (const std::string& word : words)  // also of "ccache g++"
    if (!word.starts_with('-')) add_program(all, program_in_path(word));
  for (const char* part : {"cc1plus", "as", "ld", "collect2"}) {
    std::string path = said_by(words, {(std::string("-print-prog-name=") + part).c_str()}, scratch);
    while (path.ends_with('\n')) path.pop_back();
    add_program(all, program_in_path(path));
  }
}

/// The memory of what a compiler was asked, while its first program stays as it is.
fs::path memory_of(const std::vector<std::string>& asked, const fs::path& build, SystemHashes& hashes) {
  Sha256 key;
  for (const std::string& word : asked) {
    key.add(word + '\n');
    const std::string path = program_in_path(word);
    if (!path.empty()) key.add(whole(path) + ' ' + hashes.of(whole(path)) + '\n');
  }
  for (const std::string& one : compiler_environment()) key.add(one + '\n');
  return build / ("compiler-" + key.hex());
}

bool recall(const fs::path& file, Asked& a) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  std::istringstream in(read_text(file));
  std::string line;
  if (!std::getline(in, a.version) || !std::getline(in, line)) return false;
  a.lists_linked = line == "lists";
  while (std::getline(in, line)) {
    if (line == "end") {
      note_use(file);
      return true;
    }
    a.programs.push_back(line);
  }
  a = {};
  return false;
}

void note_down(const fs::path& file, const Asked& a) {
  std::string text = a.version + (a.lists_linked ? "\nlists\n" : "\n-\n");
  for (const std::string& p : a.programs) text += p + "\n";
  write_text(file, text + "end\n");
}

std::string hash_of(const Asked& a, SystemHashes& hashes) {
  Sha256 all;
  for (const std::string& p : a.programs) all.add(hashes.of(p) + '\n');
  all.add(a.version);
  return all.hex();
}

/// The folder that a compiler is installed in: that above its bin/. Empty for /usr/bin, which is the
/// system's.
fs::path root_of(const std::string& program) {
  const fs::path bin = fs::path(whole(program)).parent_path();
  return bin.filename() == "bin" ? bin.parent_path() : bin;
}

bool below(const fs::path& file, const fs::path& folder) {
  return folder.has_relative_path() &&
         std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

bool lists_linked(const std::vector<std::string>& host, const Scratch& scratch) {
  return said_by(host, {"-Wl,--help"}, scratch).find("--dependency-file") != std::string::npos;
}

/// The compiler that nvcc uses for the host: -ccbin in its flags or in NVCC_PREPEND_FLAGS and its like, or
/// gcc.
std::vector<std::string> host_of_nvcc(std::vector<std::string> flags) {
  for (const std::string& one : compiler_inputs()) {
    const std::size_t equal = one.find('=');
    if (one.starts_with("NVCC_CCBIN=")) flags.insert(flags.begin(), "-ccbin=" + one.substr(equal + 1));
    if (one.find("PEND_FLAGS=") < equal + 1)
      for (std::string& word : split_words(one.substr(equal + 1))) flags.push_back(std::move(word));
  }
  std::string named = "g++";
  for (std::size_t i = 0; i < flags.size(); ++i)
    for (const std::string_view name : {"-ccbin", "--compiler-bindir"})
      if (flags[i] == name && i + 1 < flags.size())
        named = flags[i + 1];
      else if (flags[i].starts_with(std::string(name) + "="))
        named = flags[i].substr(name.size() + 1);
  std::error_code error;
  if (fs::is_directory(named, error)) named += "/g++";
  return {named};
}

}  // namespace

Compiler known_host_compiler(std::vector<std::string> words, const fs::path& build, SystemHashes& hashes) {
  Compiler c{std::move(words), {}, {}, false, {}};
  const fs::path memory = memory_of(c.words, build, hashes);
  Asked a;
  if (!recall(memory, a)) {
    const Scratch scratch(build);
    a.version = version_in(said_by(c.words, {"--version"}, scratch));
    a.lists_linked = lists_linked(c.words, scratch);
    add_host_programs(a.programs, c.words, scratch);
    note_down(memory, a);
  }
  c.version = a.version;
  c.lists_linked = a.lists_linked;
  c.sha256 = hash_of(a, hashes);
  for (const std::string& p : a.programs) c.roots.push_back(root_of(p));
  return c;
}

Compiler known_nvcc(const std::string& nvcc, const std::vector<std::string>& flags, const fs::path& build,
                    SystemHashes& hashes) {
  Compiler c{{nvcc}, {}, {}, false, {}};
  const std::vector<std::string> host = host_of_nvcc(flags);
  std::vector<std::string> both = c.words;
  both.insert(both.end(), host.begin(), host.end());
  const fs::path memory = memory_of(both, build, hashes);
  Asked a;
  if (!recall(memory, a)) {
    const Scratch scratch(build);
    a.version = version_in(said_by(c.words, {"--version"}, scratch));
    a.lists_linked = lists_linked(host, scratch);
    const fs::path bin = fs::path(whole(nvcc)).parent_path();
    for (const char* part : {"nvcc", "nvcc.profile", "cudafe++", "ptxas", "fatbinary", "nvlink",
                             "../nvvm/bin/cicc", "../nvvm/libdevice/libdevice.10.bc"})
      add_program(a.programs, (bin / part).string());
    add_program(a.programs, whole(nvcc));  // it may be a script
    add_host_programs(a.programs, host, scratch);
    note_down(memory, a);
  }
  c.version = a.version;
  c.lists_linked = a.lists_linked;
  c.sha256 = hash_of(a, hashes);
  for (const std::string& p : a.programs) c.roots.push_back(root_of(p));
  return c;
}

bool is_system_file(const fs::path& file, const Compiler& compiler) {
  for (const char* const place : {"/usr", "/lib", "/lib32", "/lib64", "/opt"})
    if (below(file, place)) return true;
  return std::any_of(compiler.roots.begin(), compiler.roots.end(),
                     [&](const fs::path& root) { return below(file, root); });
}

}  // namespace assay
