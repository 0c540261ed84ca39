// SPDX-License-Identifier: Apache-2.0
#include "reports/out/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "accuracy/reproduce.hpp"

namespace assay {
namespace {

std::vector<std::string>& command_words() {
  static std::vector<std::string> all;
  return all;
}

/// FNV-1a of a file's bytes, added to `hash`.
bool add_file(const std::string& path, std::uint64_t& hash) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream in(path, std::ios::binary);
  char block[1 << 16];
  while (in.read(block, sizeof block), in.gcount() > 0)
    for (std::streamsize i = 0; i < in.gcount(); ++i)
      hash = (hash ^ static_cast<unsigned char>(block[i])) * 0x100000001b3u;
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

std::string hash_of_named_files() {
  std::uint64_t hash = 0xcbf29ce484222325u;
  bool any = false;
  for (const std::string& w : command_words()) {
    bool is_file = add_file(w, hash);
    // PLUGIN.so#name, FILE.py:FUNCTION, FILE.npz:NAME, --option=FILE.
    for (const char mark : {'#', ':'})
      if (const std::size_t at = w.rfind(mark); !is_file && at != w.npos)
        is_file = add_file(w.substr(0, at), hash);
    if (const std::size_t at = w.find('='); !is_file && at != w.npos)
      is_file = add_file(w.substr(at + 1), hash);
    any = any || is_file;
  }
  return any ? fmt::format("{:016x}", hash) : "";
}

}  // namespace assay
