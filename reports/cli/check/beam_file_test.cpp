// SPDX-License-Identifier: Apache-2.0
// The kernels of a beam search in a file: the k best of every row with their log-probabilities.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"

namespace assay {
namespace {

struct BeamRun {
  int status = 0;
  std::string out;
  std::vector<Record> records;
};

BeamRun check_beam(std::vector<std::string> more) {
  const TestFolder own;
  std::vector<std::string> words = {"check",  ASSAY_SOURCE_DIR "/kernels/adapter/fixtures/beam.cu",
                                    "--host", "--quick",
                                    "--out",  (own.path() / "out").string()};
  words.insert(words.end(), more.begin(), more.end());
  const auto o = command_test::call_words(words);
  BeamRun run{o.status, o.out + o.err, {}};
  if (const auto file = own.path() / "out/records.jsonl"; std::filesystem::exists(file))
    run.records = read_records(file);
  return run;
}

TEST(BeamFile, TheRightOnePassesEveryGroup) {
  const BeamRun run = check_beam({"--entry", "beam_log_probs"});
  EXPECT_EQ(run.status, kPassed) << run.out;
  for (const char* group : {"families", "shapes", "races", "big"})
    EXPECT_TRUE(std::any_of(run.records.begin(), run.records.end(), [&](const Record& r) {
      return r.op == "log_softmax_topk" && r.group == group && r.status == Status::pass;
    })) << group;
}

TEST(BeamFile, EmptySlotsThatLookSureFail) {
  const BeamRun run = check_beam({"--entry", "beam_sure_slots_log_probs", "--only", "families", "--V", "1"});
  EXPECT_EQ(run.status, kFailed) << run.out;
  EXPECT_NE(run.out.find("an empty slot must hold -inf, got 0"), std::string::npos) << run.out;
}

TEST(BeamFile, ASwitchIsSetByTheOp) {
  for (const char* op : {"log_softmax_topk", "softmax_topk"}) {
    const BeamRun run = check_beam({"--entry", "best_probs", "--op", op, "--only", "families", "--V", "33"});
    EXPECT_EQ(run.status, kPassed) << op << "\n" << run.out;
    EXPECT_GT(run.records.size(), 10u);
  }
}

}  // namespace
}  // namespace assay
