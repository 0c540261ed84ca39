// SPDX-License-Identifier: Apache-2.0
// A disk that is full, and a standard error that nobody can write to.
#include <algorithm>
#include <sstream>

#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using process_test::Finished;

const char* const kSmallReport =
    "report --key online_warp/f16@host --family normal_1 --V 33 --V 65 --V 129 --V 1025 --threads 1";

class FullDisk : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  }
  std::vector<std::string> command(const std::string& line) const {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.begin(), ASSAY_COMMAND);
    words.insert(words.end(), {"--out", at("out")});
    return words;
  }
};

TEST_F(FullDisk, NobodyNeedsStandardError) {
  const std::pair<const char*, const char*> all[] = {
      {kSmallReport, "records.jsonl"},
      {"check online_warp/f16@host --only shapes --V 257 --quick", "records.jsonl"},
      {"selftest --key all_zero --quick", "selftest.jsonl"},
      {"fuzz online_warp/f16@host --evaluations 32 --jobs 1 --in-process", "records.jsonl"},
      {"sweep --host --key online_warp/f16@host --V 32 --rows 1", "sweep.jsonl"},
      {"functions --backend host --stride 16777216", "functions.json"}};
  for (const auto& [line, file] : all) {
    fs::remove_all(at("out"));
    const Finished usual =
        process_test::wait_for(process_test::start(command(line), {}, "/dev/null", at("err")));
    ASSERT_TRUE(usual.status == kPassed || usual.status == kFailed) << line << read_file(at("err"));
    fs::remove_all(at("out"));
    const Finished full =
        process_test::wait_for(process_test::start(command(line), {}, "/dev/null", "/dev/full"));
    EXPECT_EQ(full.status, usual.status) << line;
    EXPECT_TRUE(fs::exists(at("out") + "/" + file)) << line;
  }
}

TEST_F(FullDisk, AFullStandardOutputEndsTheRunWhereItBegins) {
  const Finished full =
      process_test::wait_for(process_test::start(command(kSmallReport), {}, "/dev/full", at("err")));
  EXPECT_EQ(full.status, kEnvironment);
  EXPECT_EQ(read_file(at("err")), "assay: standard output cannot be written: No space left on device\n");
  EXPECT_FALSE(fs::exists(at("out/records.jsonl")));
}

TEST_F(FullDisk, HelpThatNobodyGetsIsAnError) {
  for (const char* line : {"--help", "check --help", "--version"}) {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.begin(), ASSAY_COMMAND);
    EXPECT_EQ(process_test::wait_for(process_test::start(words, {}, "/dev/full", at("err"))).status,
              kEnvironment)
        << line;
  }
}

TEST_F(FullDisk, AFailingWriteEndsTheRunAtOnce) {
  // No file may grow beyond a few thousand bytes.
  std::vector<std::string> words = {"sh", "-c", "ulimit -f 4; exec \"$0\" \"$@\""};
  for (const std::string& w : command(kSmallReport)) words.push_back(w);
  const Finished full = process_test::wait_for(process_test::start(words, {}, "/dev/null", at("err")));
  EXPECT_EQ(full.status, kEnvironment) << full.signal;
  const std::string err = read_file(at("err"));
  EXPECT_NE(err.find("assay: " + at("out") + "/unfinished.jsonl: cannot be written: File too large\n"),
            std::string::npos)
      << err;
  EXPECT_FALSE(fs::exists(at("out/records.jsonl")));
}

}  // namespace
}  // namespace assay
