// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/compiler.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/compiler_run.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {
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
