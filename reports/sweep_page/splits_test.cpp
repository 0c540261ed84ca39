// SPDX-License-Identifier: Apache-2.0
// What the page says of rows split over two GPUs, and of what batch invariance costs.
#include <gtest/gtest.h>

#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/goals.hpp"
#include "reports/sweep_page/invariance.hpp"
#include "reports/sweep_page/page.hpp"
#include "reports/sweep_page/summary.hpp"

namespace assay {
namespace {

using sweep_test_data::records;

SplitRecord split(const char* dtype, const char* exchange, double share, double us) {
  SplitRecord r;
  r.key = std::string("onepass_split_fast/") + dtype + "@cuda";
  r.dtype = dtype;
  r.gpus = 2;
  r.rows = 4000;
  r.V = 262144;
  r.exchange = exchange;
  r.status = "measured";
  r.verified = "pass";
  r.median_us = us;
  r.shares = {{0, 0, 131072, us, us * share, {}, share, {}}, {1, 131072, 131072, us, us, {}, 1.0, {}}};
  return r;
}

speed::GoalLine line_of(const std::vector<SplitRecord>& splits) {
  for (const speed::GoalLine& l : speed::goal_lines(speed::gather(records(), {}, splits)))
    if (l.shapes.starts_with("two GPUs")) return l;
  return {};
}

TEST(SweepPageSplits, TheFastestRightSplitOfNcclStandsBesideTheGoal) {
  EXPECT_EQ(line_of({}).result, "not in this run");
  SplitRecord wrong = split("f32", "nccl", 0.99, 1300), failed = wrong;
  wrong.verified = "fail";
  failed.status = "failed";
  const speed::GoalLine l = line_of({split("f32", "nccl", 0.91, 1500), split("f32", "nccl", 0.80, 1700), wrong, failed,
                                     split("f16", "nccl", 0.85, 800), split("f32", "held", 0.95, 1450)});
  EXPECT_EQ(l.result, "NCCL: 85 % (f16) to 91 % (f32); the same, the slice held on the chip: 95 % (f32)");
  EXPECT_EQ(l.reached, "1 of 3, 1 not in this run");
  EXPECT_NE(sweep_page(records(), {}, {split("f32", "nccl", 0.91, 1500)}).find("two GPUs, 4000 rows"), std::string::npos);
}

TEST(SweepPageSplits, BatchInvarianceIsComparedAtShapesThatBothHave) {
  std::vector<SweepRecord> all = records({"f32"}, {4000, 10});
  EXPECT_TRUE(speed::invariance_lines(speed::gather(all, {})).empty());
  EXPECT_EQ(sweep_summary(all, {}).find("onepass_fast's, least and most"), std::string::npos);
  std::vector<SweepRecord> invariant;
  for (const SweepRecord& r : all)
    if (r.key == "onepass_fast/f32@cuda" && (r.V == 1000 || r.V == 25000)) {
      invariant.push_back(r);
      invariant.back().key = "onepass_invariant/f32@cuda";
      *invariant.back().median_us *= r.rows == 10 ? 4 : r.V == 1000 ? 1 : 1.21;
    }
  ASSERT_EQ(invariant.size(), 4u);
  SweepRecord only = invariant[0];
  only.V = 999;  // the other kernel was not timed there
  invariant.push_back(only);
  all.insert(all.end(), invariant.begin(), invariant.end());
  const auto lines = speed::invariance_lines(speed::gather(all, {}));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].rows, 4000);
  EXPECT_EQ(lines[0].least_and_most(), "1.00x (V = 1,000) to 1.21x (V = 25,000)");
  EXPECT_EQ(lines[0].mean(), "1.10x");
  EXPECT_EQ(lines[0].lengths, "2 V from 1,000 to 25,000");
  EXPECT_EQ(lines[1].rows, 10);
  EXPECT_EQ(lines[1].mean(), "4.00x");
  EXPECT_NE(sweep_page(all, {}).find("What batch invariance costs"), std::string::npos);
}

}  // namespace
}  // namespace assay
