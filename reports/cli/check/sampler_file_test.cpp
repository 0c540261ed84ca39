// SPDX-License-Identifier: Apache-2.0
// A sampler's kernels in a file: the threshold reaches them, the right ones pass, the wrong ones fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"

namespace assay {
namespace {

constexpr const char* kSampler = ASSAY_SOURCE_DIR "/kernels/adapter/fixtures/sampler.cu";

struct SamplerRun {
  int status = 0;
  std::string out, err;
  std::vector<Record> records;
  std::int64_t failed(Check check) const {
    return std::count_if(records.begin(), records.end(), [&](const Record& r) {
      return std::any_of(r.checks.begin(), r.checks.end(),
                         [&](const CheckResult& c) { return c.check == check && c.failed > 0; });
    });
  }
};

SamplerRun check_sampler(const std::string& target, std::vector<std::string> more) {
  const TestFolder own;
  std::vector<std::string> words = {"check",   kSampler + target, "--host",
                                    "--quick", "--out",           (own.path() / "out").string()};
  words.insert(words.end(), more.begin(), more.end());
  const auto o = command_test::call_words(words);
  SamplerRun run{o.status, o.out, o.err, {}};
  if (const auto file = own.path() / "out/records.jsonl"; std::filesystem::exists(file))
    run.records = read_records(file);
  return run;
}

TEST(SamplerFile, TheRightNucleusPasses) {
  const SamplerRun run = check_sampler("#nucleus", {});
  EXPECT_EQ(run.status, kPassed) << run.out << run.err;
  EXPECT_GT(run.records.size(), 100u);
  // The usual threshold, and others.
  for (const int k : {900000, 1000000})
    EXPECT_TRUE(std::any_of(run.records.begin(), run.records.end(), [&](const Record& r) {
      return r.k == k;
    })) << k;
}

TEST(SamplerFile, ANucleusWithoutTheElementThatCrossesTheThresholdFails) {
  const SamplerRun run = check_sampler("#without_crossing", {"--only", "families", "--V", "33"});
  EXPECT_EQ(run.status, kFailed) << run.out << run.err;
  EXPECT_GT(run.failed(Check::kept), 0) << run.out;
}

TEST(SamplerFile, ALauncherTakesTheThresholdOfMinP) {
  const std::vector<std::string> narrow = {"--only", "families", "--V", "33", "--op", "min_p"};
  const auto of = [&](std::vector<std::string> entry) {
    entry.insert(entry.end(), narrow.begin(), narrow.end());
    return check_sampler("", entry);
  };
  const SamplerRun right = of({"--entry", "cut_min_p", "--arg", "p=threshold"});
  EXPECT_EQ(right.status, kPassed) << right.out << right.err;
  EXPECT_GT(right.records.size(), 10u);
  for (const Record& r : right.records) EXPECT_EQ(r.op, "min_p");
  const SamplerRun wrong = of({"--entry", "cut_by_sum", "--arg", "p=threshold"});
  EXPECT_EQ(wrong.status, kFailed) << wrong.out << wrong.err;
  EXPECT_GT(wrong.failed(Check::kept), 0) << wrong.out;
  // A constant in the threshold's place is no threshold: nothing else may be taken for it.
  const SamplerRun constant = of({"--entry", "cut_min_p", "--arg", "p=0.05f"});
  EXPECT_EQ(constant.status, kBadCall);
  EXPECT_EQ(std::count(constant.err.begin(), constant.err.end(), '\n'), 1) << constant.err;
  EXPECT_NE(constant.err.find("=threshold"), std::string::npos) << constant.err;
}

}  // namespace
}  // namespace assay
