// SPDX-License-Identifier: Apache-2.0
#include "reports/out/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

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
    line += " " + shell_quoted(w);
    has = has || w == "--resume";
  }
  return has ? line : line + " --resume";
}

std::string command_verb() { return command_words().empty() ? "" : command_words()[0]; }

std::string command_compared(const std::vector<std::string>& also_without) {
  constexpr std::string_view kFlags[] = {"--resume", "--shared"};
  std::vector<std::string> valued = {"--out", "--threads"};
  valued.insert(valued.end(), also_without.begin(), also_without.end());
  std::string line = "assay";
  for (std::size_t i = 0; i < command_words().size(); ++i) {
    const std::string& w = command_words()[i];
    if (std::find(std::begin(kFlags), std::end(kFlags), w) != std::end(kFlags)) continue;
    if (std::find(valued.begin(), valued.end(), w) != valued.end()) {
      ++i;
      continue;
    }
    if (std::find(valued.begin(), valued.end(), w.substr(0, w.find('='))) != valued.end()) continue;
    line += " " + shell_quoted(w);
  }
  return line;
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
    if (const std::size_t at = w.find('='); !is_file && at != w.npos) is_file = add_file(w.substr(at + 1), hash);
    any = any || is_file;
  }
  return any ? fmt::format("{:016x}", hash) : "";
}

}  // namespace assay
