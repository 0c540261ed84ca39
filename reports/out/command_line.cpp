// SPDX-License-Identifier: Apache-2.0
#include "reports/out/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

std::vector<std::string>& command_words() {
  static std::vector<std::string> all;
  return all;
}

/// Hashes by the path.
struct Noted {
  std::mutex mutex;
  std::map<std::string, std::string> files;
  void add(const std::string& path, const std::string& sha256) {
    const std::lock_guard<std::mutex> lock(mutex);
    files[path] = sha256;
  }
  std::map<std::string, std::string> copy() {
    const std::lock_guard<std::mutex> lock(mutex);
    return files;
  }
  /// Of all hashes, whatever the paths are: parts of a run may lie in other folders.
  std::string hash(std::map<std::string, std::string> more = {}) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [path, sha256] : files) more.emplace(path, sha256);
    std::vector<std::string> all;
    for (const auto& [path, sha256] : more) all.push_back(sha256);
    std::sort(all.begin(), all.end());
    Sha256 whole;
    for (const std::string& one : all) whole.add(one + "\n");
    return all.empty() ? "" : whole.hex();
  }
};
Noted& read_files() {
  static Noted all;
  return all;
}
Noted& binaries() {
  static Noted all;
  return all;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  return error ? path : whole.string();
}

/// Adds a file's hash. False if there is no such file.
bool add_file(const std::string& path, std::map<std::string, std::string>& hashes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  hashes.emplace(absolute_path(path), sha256_of_file(path));
  return true;
}

}  // namespace

void set_command_line(std::vector<std::string> all) { command_words() = std::move(all); }

std::string command_to_resume() {
  std::string line = "assay";
  bool has = false;
  for (const std::string& w : command_words()) {
    // What follows "--" is no option.
    if (w == "--" && !has) {
      line += " --resume";
      has = true;
    }
    line += " " + shell_quoted(w);
    has = has || w == "--resume";
  }
  return has ? line : line + " --resume";
}

std::string command_verb() { return command_words().empty() ? "" : command_words()[0]; }

std::vector<std::string> words_without(const std::vector<std::string>& flags,
                                       const std::vector<std::string>& valued) {
  const auto among = [](const std::vector<std::string>& all, const std::string& w) {
    return std::find(all.begin(), all.end(), w) != all.end();
  };
  std::vector<std::string> left;
  for (std::size_t i = 0; i < command_words().size(); ++i) {
    const std::string& w = command_words()[i];
    if (among(flags, w)) continue;
    if (among(valued, w)) {
      ++i;
      continue;
    }
    if (!among(valued, w.substr(0, w.find('=')))) left.push_back(w);
  }
  return left;
}

std::string command_compared(const std::vector<std::string>& also_without) {
  std::vector<std::string> valued = {"--out", "--threads", "--junit", "--device"};
  valued.insert(valued.end(), also_without.begin(), also_without.end());
  std::string line = "assay";
  for (const std::string& w : words_without({"--resume", "--shared", "--json"}, valued))
    line += " " + shell_quoted(w);
  return line;
}

void set_option_of_command(const std::string& option, const std::string& value) {
  std::vector<std::string>& all = command_words();
  if (all.empty()) return;
  const auto end_of_options = [&] { return std::find(all.begin(), all.end(), "--"); };
  for (auto at = all.begin(); at != end_of_options();) {
    const bool alone = *at == option;
    if (!alone && !at->starts_with(option + "="))
      ++at;
    else
      at = all.erase(at, alone && at + 1 != all.end() ? at + 2 : at + 1);
  }
  all.insert(end_of_options(), {option, value});
}

void note_read(const std::string& path, const std::string& sha256) {
  read_files().add(absolute_path(path), sha256);
}
void note_binary(const std::string& path, const std::string& sha256) {
  binaries().add(absolute_path(path), sha256);
}

namespace {
std::map<std::string, std::string> named_files() {
  std::map<std::string, std::string> hashes;
  for (const std::string& w : command_words()) {
    bool is_file = add_file(w, hashes);
    // PLUGIN.so#name, FILE.py:FUNCTION, FILE.npz:NAME, --option=FILE.
    for (const char mark : {'#', ':'})
      if (const std::size_t at = w.rfind(mark); !is_file && at != w.npos)
        is_file = add_file(w.substr(0, at), hashes);
    if (const std::size_t at = w.find('='); !is_file && at != w.npos) add_file(w.substr(at + 1), hashes);
  }
  return hashes;
}
}  // namespace

std::string hash_of_named_files() { return Noted().hash(named_files()); }

std::string hash_of_read_files() { return read_files().hash(named_files()); }

std::map<std::string, std::string> noted_files() { return read_files().copy(); }

std::string hash_of_binaries() { return binaries().hash(); }

}  // namespace assay
