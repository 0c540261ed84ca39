// SPDX-License-Identifier: Apache-2.0
// What --help says: every command has exit statuses and examples, and the examples work.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/adapter/case_file_test.hpp"
#include "reference/files/npy.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The whole of every command: "", "list", "sweep", "sweep page", ...
std::set<std::string> commands(const CLI::App& app, const std::string& prefix = "") {
  std::set<std::string> all = {prefix};
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; }))
    all.merge(commands(*c, prefix.empty() ? c->get_name() : prefix + " " + c->get_name()));
  return all;
}

/// The words of an example as a shell reads them, without "assay". A redirection ends it.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words = cases::words_of(line);
  EXPECT_EQ(words.front(), "assay") << line;
  words.erase(words.begin());
  words.erase(std::find(words.begin(), words.end(), ">"), words.end());
  return words;
}

TEST(Usage, EveryCommandHasStatusesAndTwoExamples) {
  CLI::App app;
  int status = 0;
  add_commands(app, status);
  std::set<std::string> described;
  for (const Command* u : all_commands()) {
    EXPECT_TRUE(described.insert(u->path).second) << u->path;
    EXPECT_GE(u->examples.size(), 2u) << u->path;
    EXPECT_GE(u->statuses.size(), 2u) << u->path;
    for (const char* line : u->examples)
      EXPECT_TRUE(std::string(line).starts_with(std::string("assay ") + u->path)) << line;
  }
  EXPECT_EQ(described, commands(app));
}

TEST(Usage, TheDocumentNamesEveryCommand) {
  const std::string text = read_file(ASSAY_SOURCE_DIR "/reports/cli/COMMANDS.md");
  for (const Command* c : all_commands()) {
    const std::string path = c->path;
    EXPECT_TRUE(path.find(' ') != path.npos || text.find("assay " + path) != text.npos) << path;
  }
}

TEST(Usage, HelpEndsWithStatusesAndExamples) {
  for (const Command* u : all_commands()) {
    const std::string help = command_test::call(std::string("assay ") + u->path + " --help").out;
    EXPECT_NE(help.find("\nExit status:\n  0  "), help.npos) << help;
    for (const char* line : u->examples)
      EXPECT_NE(help.find(std::string("\n  ") + line + "\n"), help.npos) << line;
  }
}

struct Parsed {};

/// Throws Parsed before the command does anything, or what a call with wrong words throws.
void parse(const std::string& line) {
  CLI::App app;
  int status = 0;
  add_commands(app, status);
  app.parse_complete_callback([] { throw Parsed(); });
  std::vector<std::string> words = shell_words(line);
  std::reverse(words.begin(), words.end());
  app.parse(words);
}

TEST(Usage, EveryExampleIsACommand) {
  for (const Command* u : all_commands())
    for (const char* line : u->examples) EXPECT_THROW(parse(line), Parsed) << line;
  EXPECT_THROW(parse("assay report --famly x"), CLI::ParseError);
}

/// The softmax of x, correctly rounded.
Tensor softmax_of(const Tensor& x) {
  Tensor y(Dtype::f32, x.rows, x.V);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double sum = 0;
    const auto* in = reinterpret_cast<const float*>(x.row(r));
    auto* out = reinterpret_cast<float*>(y.row(r));
    for (std::int64_t j = 0; j < x.V; ++j) sum += std::exp(static_cast<double>(in[j]));
    for (std::int64_t j = 0; j < x.V; ++j)
      out[j] = static_cast<float>(std::exp(static_cast<double>(in[j])) / sum);
  }
  return y;
}

/// Works in an empty folder of its own, and goes back.
class UsageRuns : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

 private:
  fs::path before_ = fs::current_path(),
           folder_ = testing::TempDir() + "usage_runs." + std::to_string(getpid());
};

TEST_F(UsageRuns, TheCheapExamplesPass) {
  Tensor x(Dtype::f32, 2, 33);
  for (int j = 0; j < 66; ++j) reinterpret_cast<float*>(x.bytes.data())[j] = static_cast<float>(j % 7) / 8;
  write_npy("x.npy", x);
  write_npy("y.npy", softmax_of(x));
  std::ofstream("my.cu") << "void softmax(const float* in, float* out, int rows, int V, cudaStream_t s) {}\n";
  for (const char* line :
       {"assay adapter my.cu --entry softmax --source adapter.cu", "assay list --families",
        "assay report --key safe_block/f32@host --family gpt_logits --V 4099",
        "assay check safe_block/f32@host --only families --family normal_1 --V 33",
        "assay inputs --out in --family normal_1 --V 33 --rows 4",
        "assay inputs --out in16 --op topk --dtype f16 --family ties --V 1000",
        "assay grade --logits x.npy --probs y.npy", "assay sweep accesses --metrics", "assay sweep rules",
        "assay sweep launch --key safe_block/f32@host --V 1000 --rows 4", "assay functions --list",
        "assay schema", "assay selftest --list", "assay selftest --key no_max --quick",
        "assay fuzz safe_block/f32@host --evaluations 32"}) {
    bool found = false;
    for (const Command* u : all_commands())
      for (const char* example : u->examples) found = found || std::string(line) == example;
    EXPECT_TRUE(found) << line << " is no example";
    const command_test::Outcome o = command_test::call_words(shell_words(line));
    EXPECT_EQ(o.status, kPassed) << line << "\n" << o.err << o.out;
  }
}

}  // namespace
}  // namespace assay
