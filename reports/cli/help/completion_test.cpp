// SPDX-License-Identifier: Apache-2.0
// Completion as bash does it, and the manual page.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "kernels/isolation/process/process.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/help/command_texts.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Completion : public command_test::FolderTest {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "some_folder");
    write_files({{folder_ / "kernel.cu", ""},
                 {folder_ / "complete.sh", command_test::call("assay completion bash").out}});
    fs::create_symlink(isolation::worker_executable(""), folder_ / "assay");
  }

  /// What bash offers after this line, such as "assay che".
  std::set<std::string> after(const std::string& line) const {
    const std::string script =
        "cd " + folder_.string() + " && source ./complete.sh && PATH=$PWD:$PATH && COMP_LINE='" + line +
        "' && COMP_POINT=${#COMP_LINE} && _assay && printf '%s\\n' \"${COMPREPLY[@]}\"";
    write_files({{folder_ / "ask.sh", script}});
    EXPECT_EQ(
        std::system(("bash --norc " + (folder_ / "ask.sh").string() + " > " + (folder_ / "offered").string())
                        .c_str()),
        0);
    std::istringstream text(read_file(folder_ / "offered"));
    std::set<std::string> all;
    for (std::string one; std::getline(text, one);)
      if (!one.empty()) all.insert(one);
    return all;
  }

  const fs::path folder_ = own_.path();
};

using Offered = std::set<std::string>;

TEST_F(Completion, OfCommands) {
  EXPECT_EQ(after("assay che"), Offered{"check"});
  EXPECT_EQ(after("assay sweep o"), Offered{"oracle"});
  EXPECT_TRUE(after("assay ").contains("fuzz"));
}

TEST_F(Completion, OfOptions) {
  EXPECT_EQ(after("assay report --fam"), Offered{"--family"});
  EXPECT_EQ(after("assay check safe_block/f32@host --dec"), Offered{"--declare"});
  EXPECT_EQ(after("assay check --ent"), Offered{"--entry"});
  EXPECT_EQ(after("assay sweep launch --lau"), Offered{"--launches"});
  EXPECT_EQ(after("assay list --fuzz"), Offered{});
}

TEST_F(Completion, OfValues) {
  const Offered keys = after("assay report --key safe_block/f3");
  EXPECT_TRUE(keys.contains("safe_block/f32@host"));
  for (const std::string& key : keys) EXPECT_TRUE(key.starts_with("safe_block/f32@")) << key;
  EXPECT_TRUE(after("assay check safe_block/bf1").contains("safe_block/bf16@host"));
  // bash takes @ for the end of a word, and sets in only what stands behind it.
  EXPECT_TRUE(after("assay check safe_block/f32@ho").contains("host"));
  EXPECT_EQ(after("assay report --family gpt_"), Offered{"gpt_logits"});
  EXPECT_EQ(after("assay check x --only ha"), Offered{});
  EXPECT_EQ(after("assay check x --only sha"), Offered{"shapes"});
  EXPECT_EQ(after("assay selftest --key no_max_n"), Offered{"no_max_near"});
  EXPECT_EQ(after("assay report --dtype b"), Offered{"bf16"});
  EXPECT_EQ(after("assay check kern"), Offered{"kernel.cu"});
  EXPECT_EQ(after("assay grade some"), Offered{"some_folder"});
  EXPECT_EQ(after("assay report --seed "), Offered{});
}

std::vector<CommandText> every_command() {
  static CLI::App app;
  static int status = 0;
  static const bool made = [] { return add_commands(app, status), true; }();
  return made ? command_texts(app) : std::vector<CommandText>();
}

TEST(CompletionOfZsh, HasEveryCommandAndOption) {
  const std::string script = command_test::call("assay completion zsh").out;
  EXPECT_TRUE(script.starts_with("#compdef assay\n"));
  for (const CommandText& c : every_command()) {
    EXPECT_NE(script.find("'" + c.path + "'"), script.npos) << c.path;
    for (const OptionText& o : c.options)
      if (!o.positional) {
        EXPECT_NE(script.find("'" + o.name + ":"), script.npos) << c.path << " " << o.name;
      }
  }
  if (std::system("zsh --version > /dev/null 2>&1") != 0) return;
  const fs::path file = testing::TempDir() + "completion_zsh." + std::to_string(getpid());
  write_files({{file, script}});
  EXPECT_EQ(std::system(("zsh -n " + file.string()).c_str()), 0);
  fs::remove(file);
}

TEST(ManualPage, HasEveryCommandAndOption) {
  const std::string page = command_test::call("assay completion man").out;
  const auto has = [&](std::string text) {
    for (std::size_t i = text.find('-'); i != text.npos; i = text.find('-', i + 2)) text.insert(i, "\\");
    return page.find(text) != page.npos;
  };
  for (const CommandText& c : every_command()) {
    EXPECT_TRUE(has(c.path.empty() ? ".SH NAME" : ".SS assay " + c.path)) << c.path;
    for (const OptionText& o : c.options)
      if (o.name != "--help") {
        EXPECT_TRUE(has("\\fB" + o.name + "\\fR")) << c.path << " " << o.name;
      }
  }
  // No line is a request by mistake.
  std::istringstream in(page);
  const std::set<std::string> known = {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"};
  for (std::string line; std::getline(in, line);) {
    EXPECT_NE(line[0], '\'') << line;
    if (line[0] == '.') {
      EXPECT_TRUE(known.contains(line.substr(0, 3))) << line;
    }
  }
}

}  // namespace
}  // namespace assay
