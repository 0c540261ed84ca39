// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/toolchain.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "kernels/isolation/process/child.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& p) {
  std::error_code error;
  return fs::is_regular_file(p, error) && access(p.c_str(), X_OK) == 0;
}

}  // namespace

std::string program_in_path(const std::string& name) {
  if (name.find('/') != name.npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  const std::string all = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    const fs::path p = fs::path(end == at ? "." : all.substr(at, end - at)) / name;
    if (is_program(p)) return p.string();
    at = end + 1;
  }
  return "";
}

std::string find_nvcc() {
  if (const char* named = std::getenv("CUDACXX"); named && *named) {
    const std::string found = program_in_path(named);
    if (found.empty()) throw InputError(std::string("CUDACXX=") + named + ": no such program");
    return found;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home && *home && is_program(fs::path(home) / "bin/nvcc"))
      return (fs::path(home) / "bin/nvcc").string();
  if (const std::string found = program_in_path("nvcc"); !found.empty()) return found;
  if (is_program("/usr/local/cuda/bin/nvcc")) return "/usr/local/cuda/bin/nvcc";
  throw EnvironmentError(
      "no nvcc: CUDACXX, CUDA_HOME or PATH can name one; --host compiles for the host executor instead");
}

std::vector<std::string> find_host_compiler() {
  if (const char* named = std::getenv("CXX"); named && *named) {
    std::vector<std::string> words = split_words(named);
    if (words.empty() || program_in_path(words[0]).empty())
      throw InputError(std::string("CXX=") + named + ": no such program");
    words[0] = program_in_path(words[0]);
    return words;
  }
  for (const char* name : {"g++", "c++", "clang++"})
    if (const std::string found = program_in_path(name); !found.empty()) return {found};
  throw EnvironmentError(
      "no C++ compiler: CXX or PATH can name one; --host needs g++ and Boost.Context, on Debian: apt-get "
      "install "
      "g++ libboost-context-dev");
}

std::vector<std::string> gpu_architecture(const std::string& nvcc, const std::string& scratch) {
  std::error_code error;
  const fs::directory_iterator gpus("/proc/driver/nvidia/gpus", error);
  if (error || gpus == fs::directory_iterator()) return {"-arch=sm_90"};
  std::set<std::string> numbers;  // 90 is sm_90
  // The program of CUDA that nvcc asks for -arch=native says "90,90,", and the driver's "9.0".
  const fs::path query = fs::canonical(nvcc, error).parent_path() / "__nvcc_device_query";
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{query.string(), "--silent"},
        std::vector<std::string>{program_in_path("nvidia-smi"), "--query-gpu=compute_cap",
                                 "--format=csv,noheader"}}) {
    if (!numbers.empty() || !is_program(asked[0]) || run_program(asked, scratch) != 0) continue;
    std::ifstream in(scratch);
    std::string number;
    for (char c = 0; in.get(c);)
      if (c >= '0' && c <= '9') {
        number += c;
      } else if (c != '.') {
        if (number.size() == 2 || number.size() == 3) numbers.insert(number);
        number.clear();
      }
  }
  if (numbers.empty()) return {"-arch=sm_90"};
  if (numbers.size() == 1) return {"-arch=sm_" + *numbers.begin()};
  std::vector<std::string> words;
  for (const std::string& n : numbers) words.push_back("-gencode=arch=compute_" + n + ",code=sm_" + n);
  return words;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (const char c : line) {
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (open) words.push_back(word);
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote) throw InputError("flags: a quote is not closed: " + line);
  if (open) words.push_back(word);
  return words;
}

int run_program(const std::vector<std::string>& words, const std::string& log, const std::string& input) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
            in = file < 0 ? -1 : open(input.c_str(), O_RDONLY | O_CLOEXEC);
  pid_t pid = 0;
  const int error =
      in < 0 ? errno
             : isolation::start({.words = words, .descriptors = {{in, 0}, {file, 1}, {file, 2}}}, pid);
  close(in);
  close(file);
  if (error != 0) throw InputError(words[0] + ": cannot be started: " + std::strerror(error));
  return isolation::status_of(pid);
}

namespace {

/// A race checker is compiled while other threads work.
struct Watcher {
  std::mutex lock;
  Announce to;
};
Watcher& watcher() {
  static Watcher w;
  return w;
}

void tell(const std::string& what) {
  const std::lock_guard<std::mutex> lock(watcher().lock);
  if (watcher().to) watcher().to(what);
}

}  // namespace

void announce_compilation(Announce to) {
  const std::lock_guard<std::mutex> lock(watcher().lock);
  watcher().to = std::move(to);
}

void note_of_compilation(const std::string& line) {
  tell({});  // so that it begins a line
  std::fprintf(stderr, "assay: %s\n", line.c_str());
}

void Announced::next(const std::string& what) { tell("compiling " + what); }
Announced::~Announced() { tell({}); }

}  // namespace assay
