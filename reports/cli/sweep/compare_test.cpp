// SPDX-License-Identifier: Apache-2.0
// Equal, shifted, noisy and broken sweeps: what the comparison must say of each.
#include "reports/sweep/data/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/help/answer_test.hpp"
#include "reports/data/files.hpp"
#include "reports/page/test_data.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

/// `count` configurations with all times multiplied by `factor`. Samples have 1 % noise and a tail.
std::vector<SweepRecord> sweep(unsigned seed, double factor = 1, std::size_t samples = 15, int count = 200,
                               double noise = 0.01) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<SweepRecord> out;
  for (int i = 0; i < count; ++i) {
    SweepRecord r;
    r.key = "online_block/f32@cuda";
    r.backend = "cuda";
    r.op = "softmax";
    r.dtype = "f32";
    r.rows = 4000;
    r.V = 100 + i;
    r.status = Status::pass;
    r.family = "normal_1";
    r.seed = 1;
    r.gpu = "a GPU";
    for (std::size_t n = 0; n < samples; ++n) {
      const double tail = random() % 20 == 0 ? 1.3 : 1;
      r.times_us.push_back(factor * (50 + i) * (1 + noise * normal(random)) * tail);
    }
    r.samples = static_cast<std::int64_t>(samples);
    out.push_back(r);
  }
  return out;
}

TEST(SweepCompare, FindsNothingBetweenEqualSweeps) {
  const auto one = sweep(1);
  const SweepComparison same = compare_sweeps(one, one);
  EXPECT_EQ(same.same, 200);
  EXPECT_TRUE(comparison_passed(same));
  for (unsigned seed = 2; seed < 12; ++seed) {
    const SweepComparison c = compare_sweeps(one, sweep(seed));
    EXPECT_TRUE(comparison_passed(c)) << comparison_text(c);
    EXPECT_TRUE(c.faster.empty()) << comparison_text(c);
  }
}

TEST(SweepCompare, FindsAShiftOfFivePercent) {
  const SweepComparison slower = compare_sweeps(sweep(1), sweep(2, 1.05));
  EXPECT_GE(slower.slower.size(), 195u) << comparison_text(slower);
  EXPECT_FALSE(comparison_passed(slower));
  const SweepComparison faster = compare_sweeps(sweep(1, 1.05), sweep(2));
  EXPECT_GE(faster.faster.size(), 195u);
  EXPECT_TRUE(faster.slower.empty());
  EXPECT_TRUE(comparison_passed(faster));
}

TEST(SweepCompare, FindsTheOneThatChanged) {
  auto now = sweep(2);
  for (double& t : now[17].times_us) t *= 1.05;
  const SweepComparison c = compare_sweeps(sweep(1), now);
  ASSERT_EQ(c.slower.size(), 1u) << comparison_text(c);
  EXPECT_EQ(c.slower[0].what, identity(now[17]));
  EXPECT_NEAR(c.slower[0].factor(), 1.05, 0.02);
}

TEST(SweepCompare, LeavesSmallChangesAndLoudNoiseAlone) {
  // One percent is statistically significant but unimportant.
  const SweepComparison small = compare_sweeps(sweep(1, 1, 30, 50, 0.0005), sweep(2, 1.01, 30, 50, 0.0005));
  EXPECT_EQ(small.same, 50) << comparison_text(small);
  const SweepComparison loud = compare_sweeps(sweep(1, 1, 15, 200, 0.3), sweep(2, 1, 15, 200, 0.3));
  EXPECT_TRUE(loud.slower.empty()) << comparison_text(loud);
}

TEST(SweepCompare, SaysWhereSamplesAreTooFew) {
  const SweepComparison c = compare_sweeps(sweep(1, 1, 3), sweep(2, 1.5, 3));
  EXPECT_TRUE(c.slower.empty());
  EXPECT_EQ(c.undecided.size(), 200u);
}

TEST(SweepCompare, NamesWhatWasLost) {
  const auto before = sweep(1, 1, 15, 5);
  auto now = sweep(2, 1, 15, 5);
  now[1].status = Status::not_run;
  now[1].reason = "the budget was spent";
  now.pop_back();
  SweepComparison c = compare_sweeps(before, now);
  ASSERT_EQ(c.lost.size(), 2u);
  EXPECT_TRUE(comparison_passed(c));
  EXPECT_NE(comparison_text(c).find(identity(before[1])), std::string::npos);
  EXPECT_NE(comparison_text(c).find("the budget was spent"), std::string::npos);
  now[1].status = Status::fail;
  EXPECT_FALSE(comparison_passed(compare_sweeps(before, now)));
  EXPECT_EQ(compare_sweeps(now, before).fresh, 2);
}

TEST(SweepCompare, DoesNotPassWhereNothingWasCompared) {
  EXPECT_FALSE(comparison_passed(compare_sweeps(sweep(1), {})));
  EXPECT_FALSE(comparison_passed(compare_sweeps({}, {})));
}

TEST(SweepCompare, NotesWhatTheMachineDidOtherwise) {
  const auto with_copy = [](double us, const char* gpu) {
    auto records = sweep(1, 1, 15, 2);
    records[1].role = "ceiling";
    records[1].key = "copy@cuda";
    records[1].op = "copy";
    records[1].median_us = us;
    for (SweepRecord& r : records) r.gpu = gpu;
    return records;
  };
  EXPECT_TRUE(compare_sweeps(with_copy(10, "x"), with_copy(10, "x")).notes.empty());
  const SweepComparison c = compare_sweeps(with_copy(10, "x"), with_copy(12, "y"));
  EXPECT_EQ(c.notes.size(), 2u);
  EXPECT_EQ(c.compared(), 1) << "a ceiling is no configuration";
}

TEST(SweepCompare, GoesThroughTheCommand) {
  const TestFolder own;
  const std::filesystem::path& folder = own.path();
  const auto stored = [&](const char* name, const std::vector<SweepRecord>& records) {
    std::string text;
    for (const SweepRecord& r : records) text += fact_line(r);
    write_files({{folder / name, text}});
    return (folder / name).string();
  };
  const std::string a = stored("a", sweep(1)), b = stored("b", sweep(2)), c = stored("c", sweep(2, 1.05));
  nlohmann::json answer;
  const auto call = [&](const std::string& from, const std::string& to) {
    const std::string junit = (folder / "junit.xml").string();
    const auto o = command_test::call_words({"sweep", "--compare", from, "--new", to, "--json", "--junit",
                                             junit, "--out", (folder / "out").string()});
    if (o.status == kBadCall) return o.status;
    answer = nlohmann::json::parse(o.out);
    answer_test::expect_one_answer("sweep", o.status, answer, junit);
    return o.status;
  };
  EXPECT_EQ(call(a, b), kPassed);
  EXPECT_EQ(call(a, c), kFailed);
  EXPECT_GE(answer["counts"]["slower"], 195);
  EXPECT_EQ(answer["failures"][0]["key"], "online_block/f32@cuda");
  EXPECT_NE(answer["failures"][0]["message"].get<std::string>().find("slower: "), std::string::npos);
  EXPECT_EQ(call(a, (folder / "none").string()), kBadCall);
  const std::string empty = stored("empty", {});
  for (const auto& [from, to] : {std::pair(a, empty), std::pair(empty, a), std::pair(empty, empty)})
    EXPECT_EQ(call(from, to), kBadCall) << "nothing would be compared";
}

// The sweep's pages on what is published: how large they are, and which lengths their main results speak of.

namespace fs = std::filesystem;

std::string softmax_line(const std::vector<SweepRecord>& all) {
  for (const std::string& line : speed::headlines(speed::gather(all, {})))
    if (line.starts_with("f32 softmax, 4000 rows")) return line;
  return "";
}

TEST(SweepPagePublished, EachPageIsUnderTwoMegabytes) {
  for (const char* machine : {"h200", "h100"}) {
    const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "reports/published" / machine;
    const std::vector<SweepRecord> records = records_of_folder(folder);
    ASSERT_GT(records.size(), 10'000u) << folder;
    std::vector<AccessRecord> accesses;
    if (fs::exists(folder / "accesses.jsonl")) accesses = read_facts<AccessRecord>(folder / "accesses.jsonl");
    const std::string first = sweep_page(records, accesses), shapes = sweep_shapes_page(records, accesses);
    EXPECT_LT(first.size(), 1'600'000u) << machine;
    EXPECT_LT(shapes.size(), 1'600'000u) << machine;
    EXPECT_EQ(test_html::unbalanced(first), "");
    EXPECT_EQ(test_html::unbalanced(shapes), "");
  }
}

TEST(SweepPagePublished, TheMainResultSpeaksOfLengthsAtWhichOwnKernelsWereTimed) {
  std::vector<SweepRecord> all = sweep_test_data::records({"f32"}, {4000});
  const std::string before = softmax_line(all);
  EXPECT_NE(before.find("at which a kernel of this project was timed"), std::string::npos) << before;
  SweepRecord slow;
  for (const SweepRecord& r : all)
    if (r.key == "torch_softmax/f32@cuda" && r.V >= 4096) slow = r;
  ASSERT_EQ(slow.role, "peer");
  slow.V += 1;
  slow.median_us = *slow.median_us * 100, slow.share_of_copy = 0.01;
  all.push_back(slow);
  EXPECT_EQ(softmax_line(all), before) << "only a peer was timed at that length";
  // With a kernel of the project at the same length it counts.
  slow.key = "online_block/f32@cuda", slow.role = "variant";
  slow.verified = Status::pass;
  all.push_back(slow);
  EXPECT_NE(softmax_line(all), before);
}

}  // namespace
}  // namespace assay
