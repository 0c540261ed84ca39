// SPDX-License-Identifier: Apache-2.0
// assay check as it is called: what only code can ask. The rest is in checks.calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "kernels/declaration.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/compare.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CheckCommand : public command_test::FolderTest {
 protected:
  /// Runs `assay check LINE --threads 1 --out FOLDER`. Returns the exit status; the output is in out and err.
  int check(const std::string& line) {
    const command_test::Outcome o = run("check " + line + " --threads 1", "out");
    out = o.out, err = o.err;
    return o.status;
  }
  std::string out, err;
};

TEST_F(CheckCommand, ARightKernelPasses) {
  ASSERT_EQ(check("safe_block/f32@host --quick --only shapes --only layout --only streams --only calls"),
            kPassed)
      << out;
  // The verdict, in the terminal and on the page, says what a quick check left out.
  std::set<std::int64_t> lengths;
  std::int64_t rows = 0;
  for (const Record& r : read_records(at("out/records.jsonl")))
    if (r.V >= 1 && r.V <= 4096 && r.rows > 0) lengths.insert(r.V), rows = std::max(rows, r.rows);
  ASSERT_TRUE(rows > 1000 && rows < 10000) << rows;
  std::string most = std::to_string(rows);
  most.insert(1, ",");
  const std::string quick = "quick: " + std::to_string(lengths.size()) +
                            " of 4,096 row lengths to 4,096 were tried, and up to " + most + " rows";
  EXPECT_TRUE(out.starts_with("PASS safe_block/f32@host; " + quick + "\n")) << out;
  EXPECT_NE(read_file(at("out/index.html")).find(quick.substr(7)), std::string::npos);
  // A pass proposes what to do next, as a command that can be run.
  const std::string next =
      "\nnext, search for an input that breaks it: assay fuzz safe_block/f32@host --time 5m\n";
  EXPECT_TRUE(out.ends_with(next)) << out;
  EXPECT_TRUE(fs::exists(at("out/summary.md")));
  const auto all = read_records(at("out/records.jsonl"));
  EXPECT_GT(all.size(), 400u);
  for (const Record& r : all) {
    EXPECT_FALSE(r.group.empty());
    // A worker can make every case except a delayed producer and an in-place launch.
    EXPECT_TRUE(r.status == Status::pass || r.setup == "in_place" || r.setup == "delayed_producer")
        << r.reason << " " << r.reproduce;
  }
}

TEST_F(CheckCommand, HelpListsTheWordsOfADeclaration) {
  EXPECT_EQ(check("--help"), kPassed);
  std::istringstream all(declaration_words());
  int words = 0;
  for (std::string line; std::getline(all, line); ++words)
    EXPECT_NE(out.find(line + "\n"), std::string::npos) << line;
  EXPECT_GT(words, 20);
}

TEST_F(CheckCommand, SaysNothingTwiceAndNothingForOthers) {
  const char* const asked = std::getenv("RC_PARAMS");
  const std::string before = asked ? asked : "";
  unsetenv("RC_PARAMS");
  EXPECT_EQ(check("safe_block/f32@host --quick --only properties --seed 3"), kPassed) << out;
  EXPECT_EQ((out + err).find("Using configuration"), std::string::npos) << err;
  EXPECT_STREQ(std::getenv("RC_PARAMS"), "seed=3");
  unsetenv("RC_PARAMS");
  if (asked) setenv("RC_PARAMS", before.c_str(), 1);
}

TEST(Sandbox, GroupsThatRanOutsideAreNamed) {
  std::vector<std::pair<std::string, std::string>> one = {{"host", "x"}, {"sandbox", "bubblewrap"}};
  say_not_sandboxed(one, {});
  EXPECT_EQ(not_sandboxed(one), "");
  say_not_sandboxed(one, {"races"});
  EXPECT_EQ(not_sandboxed(one), "the group races: the tool runs a kernel outside of any sandbox");
  EXPECT_EQ(one[0].second, "x");
  std::vector<std::pair<std::string, std::string>> none = {{"sandbox", "none: --no-sandbox"}};
  say_not_sandboxed(none, {"races", "sanitize"});
  EXPECT_EQ(not_sandboxed(none), "--no-sandbox");
}

}  // namespace
}  // namespace assay
