// SPDX-License-Identifier: Apache-2.0
// A sampler's kernels in files: the threshold and the temperature reach them, the right ones pass, the wrong
// ones fail.
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
constexpr const char* kTempered = ASSAY_SOURCE_DIR "/kernels/adapter/fixtures/tempered.cu";

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

SamplerRun check_sampler(const std::string& target, std::vector<std::string> more,
                         const char* file = kSampler) {
  const TestFolder own;
  std::vector<std::string> words = {"check",   file + target, "--host",
                                    "--quick", "--out",       (own.path() / "out").string()};
  words.insert(words.end(), more.begin(), more.end());
  const auto o = command_test::call_words(words);
  SamplerRun run{o.status, o.out, o.err, {}};
  if (const auto records = own.path() / "out/records.jsonl"; std::filesystem::exists(records))
    run.records = read_records(records);
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

SamplerRun check_tempered(const std::string& target, std::vector<std::string> more) {
  more.insert(more.end(), {"--only", "shapes", "--only", "operands", "--V", "33"});
  return check_sampler(target, more, kTempered);
}
std::int64_t in_group(const SamplerRun& run, std::string_view group) {
  return std::count_if(run.records.begin(), run.records.end(),
                       [&](const Record& r) { return r.group == group; });
}

TEST(SamplerFile, ATemperatureIsJudged) {
  for (const char* right : {"#tempered", "#tempered_set"}) {
    const SamplerRun run = check_tempered(right, {});
    EXPECT_EQ(run.status, kPassed) << right << run.out << run.err;
    EXPECT_EQ(in_group(run, "operands"), 3) << right;
    EXPECT_GT(in_group(run, "shapes"), 0) << right;
  }
  const SamplerRun set = check_tempered("#cold_set", {});
  EXPECT_EQ(set.status, kFailed) << set.out << set.err;
  EXPECT_GT(set.failed(Check::kept), 0) << set.out;
}

TEST(SamplerFile, ALauncherTakesATemperature) {
  const std::vector<std::string> narrow = {"--declare", "finite=yes; max_k=16", "--entry"};
  const auto of = [&](const char* entry) {
    std::vector<std::string> words = narrow;
    words.push_back(entry);
    return check_tempered("", words);
  };
  const SamplerRun right = of("softmax_best");
  EXPECT_EQ(right.status, kPassed) << right.out << right.err;
  EXPECT_EQ(in_group(right, "operands"), 3);
  for (const Record& r : right.records) EXPECT_EQ(r.op, "softmax_topk");
  // Right where the temperature is 1, so in every other group.
  const SamplerRun wrong = of("softmax_best_cold");
  EXPECT_EQ(wrong.status, kFailed) << wrong.out << wrong.err;
  for (const Record& r : wrong.records)
    EXPECT_EQ(r.status, r.group == "operands" ? Status::fail : Status::pass) << r.reproduce;
  EXPECT_NE(wrong.out.find("an operand is left out, or is used in another way"), std::string::npos)
      << wrong.out;
}

TEST(SamplerFile, AnOperandThatIsNotJudgedIsRefused) {
  const SamplerRun run = check_tempered("#masked", {"--nvcc-flags=-DWITH_A_MASK"});
  EXPECT_EQ(run.status, kBadCall) << run.out;
  EXPECT_NE(run.err.find("has operand mask_keep:u8, which is not judged for op softmax_topk: only scale "
                         "temperature temperatures are"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

// A float beside indices may be a temperature or a factor of the results. Nobody guesses, and no kernel fails
// for it.
TEST(SamplerFile, AFloatOfATopkWithoutAnOrderIsAskedAbout) {
  const SamplerRun run = check_tempered("#guessed", {"--nvcc-flags=-DWITHOUT_AN_ORDER"});
  EXPECT_EQ(run.status, kBadCall) << run.out;
  EXPECT_TRUE(run.err.starts_with(std::string("assay: ") + kTempered + ": variant ")) << run.err;
  EXPECT_NE(run.err.find("('guessed') ASSAY_VARIANT: parameter 4 is not known what it is for: assay::order("),
            std::string::npos)
      << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

// Right probabilities, judged as the logits that a plain top-k gives back.
TEST(SamplerFile, ProbabilitiesThatAreJudgedAsLogitsAreNamed) {
  const SamplerRun run = check_sampler(
      "",
      {"--entry", "softmax_best", "--op", "topk", "--declare", "finite=yes; max_k=16", "--only", "shapes"},
      kTempered);
  EXPECT_EQ(run.status, kFailed) << run.err;
  EXPECT_NE(run.out.find("the values are not logits: --op softmax_topk"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace assay
