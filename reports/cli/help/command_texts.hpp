// SPDX-License-Identifier: Apache-2.0
// All commands with their options, as data: what completion and the manual page are made from.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace assay {

struct OptionText {
  std::string name;   // "--key"; of a positional its own name: "target"
  std::string value;  // "TEXT", "INT"; empty: takes none
  bool positional = false, many = false, required = false;
  std::string text;
};

struct CommandText {
  std::string path;  // "sweep page"; empty for assay itself
  std::string text;
  std::vector<OptionText> options;
  std::vector<std::string> below;  // "page", ...
};

/// assay itself first, then every command, each followed by those below it.
std::vector<CommandText> command_texts(const CLI::App& app);

/// The words that an option or a positional may have: fixed ones, or what `assay completion KIND` prints.
enum class WordKind { fixed, asked, files, folders, none };
struct ValueWords {
  WordKind kind = WordKind::none;
  std::string words;  // fixed: the words; asked: keys, families, groups, functions or entries
};
ValueWords words_of(const CommandText& command, const OptionText& option);

std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
/// A manual page, in the macros of man(7).
std::string manual_page(const std::vector<CommandText>& commands);

}  // namespace assay
