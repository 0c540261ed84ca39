// SPDX-License-Identifier: Apache-2.0
// How often a launch is timed, on a simulated machine with given times.
#include "reports/sweep/timing.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

class ToldRig final : public Rig {
 public:
  double one = 10, noise = 0;  // us of a launch; every other sample is longer by this share
  std::int64_t most = 128, launched = 0, copies = 0;
  bool room = true;

  const Machine& machine() const override { return machine_; }
  void prepare(const Variant&, const Problem&, const Tensor&) override {}
  bool prepare_copy(std::size_t, CopyBy by) override {
    one = by == CopyBy::streaming ? 5 : by == CopyBy::chained ? 4 : 10;
    return ++copies, room;
  }
  bool prepare_read(std::size_t, bool chained) override {
    one = chained ? 3 : 6;
    return room;
  }
  bool prepare_empty() override { return room; }
  std::string cold() const override { return "told"; }
  std::int64_t most_launches() const override { return most; }
  double run_us(std::int64_t launches) override {
    EXPECT_LE(launches, most);
    launched += launches;
    odd_ = !odd_;
    return static_cast<double>(launches) * one * (odd_ ? 1 + noise : 1);
  }
  void run_alone(std::int64_t) override {}
  void poison() override {}
  void fetch(std::int64_t, void*, void*) override {}
  FastJudgement judge(double, std::int64_t&) override { return {}; }
  bool logits_intact() override { return true; }
  bool remember() override { return true; }
  bool as_remembered() override { return true; }

 private:
  Machine machine_;
  bool odd_ = false;
};

TEST(SweepTiming, RepeatsUntilTheMedianIsKnown) {
  ToldRig rig;
  const Timing steady = time_launches(rig);
  EXPECT_EQ(steady.times_us, std::vector<double>(12, 10.0));
  EXPECT_EQ(steady.median_us(), 10);
  EXPECT_FALSE(steady.once);
  rig.noise = 0.2;
  EXPECT_EQ(time_launches(rig).times_us.size(), 30u);
}

TEST(SweepTiming, BatchesShortLaunches) {
  ToldRig rig;
  rig.one = 3;
  EXPECT_EQ(time_launches(rig).launches_per_sample, 34);
  rig.most = 4;
  EXPECT_EQ(time_launches(rig).launches_per_sample, 4);
  rig.one = 300;
  EXPECT_EQ(time_launches(rig).launches_per_sample, 1);
  rig.one = 0;
  EXPECT_EQ(time_launches(rig).launches_per_sample, 4) << "a clock that saw nothing";
}

TEST(SweepTiming, SpendsNoMoreThanItsShare) {
  ToldRig rig;
  rig.one = 60'000;
  EXPECT_EQ(time_launches(rig).times_us.size(), 3u);
  rig.one = 250'000;
  rig.launched = 0;
  const Timing t = time_launches(rig);
  EXPECT_TRUE(t.once);
  EXPECT_EQ(t.times_us.size(), 1u);
  EXPECT_EQ(rig.launched, 1);
}

TEST(SweepTiming, PutsWhatTheSamplesSay) {
  SweepRecord r;
  Timing t;
  t.launches_per_sample = 2;
  for (int i = 1; i <= 11; ++i) t.times_us.push_back(i);
  put_timing(r, t);
  EXPECT_EQ(r.samples, 11);
  EXPECT_EQ(r.median_us, 6);
  EXPECT_EQ(r.p10_us, 2);
  EXPECT_EQ(r.p90_us, 10);
  EXPECT_EQ(r.ci_low_us, 2);
  EXPECT_EQ(r.ci_high_us, 10);
  SweepRecord once;
  put_timing(once, timed_once(7));
  EXPECT_EQ(once.median_us, 7);
  EXPECT_FALSE(once.ci_low_us) << "one sample has no interval";
}

TEST(SweepTiming, SaysItsRulesToOthers) {
  const auto rules = nlohmann::json::parse(timing_rules_json());
  EXPECT_EQ(rules.at("too_long_us"), kTimingRules.too_long_us);
  EXPECT_EQ(rules.at("most_launches"), kTimingRules.most_launches);
  ASSERT_FALSE(rules.at("datasheets").empty());
  for (const auto& [gpu, gb_per_s] :
       rules.at("datasheets").get<std::vector<std::pair<std::string, double>>>())
    EXPECT_EQ(datasheet_gb_per_s("NVIDIA " + gpu), gb_per_s) << gpu;
  EXPECT_FALSE(datasheet_gb_per_s("a GPU of another maker"));
}

TEST(SweepTiming, KnowsTheShapesOfTheGoalsOfTopk) {
  EXPECT_TRUE(shape_of_topk_goals(4000, 8192, 30));
  EXPECT_TRUE(shape_of_topk_goals(4000, 32768, 256));
  EXPECT_TRUE(shape_of_topk_goals(10, 1048576, 5));
  EXPECT_FALSE(shape_of_topk_goals(4000, 8192, 256));
  EXPECT_FALSE(shape_of_topk_goals(10, 8192, 5));
  EXPECT_FALSE(shape_of_topk_goals(1, 128256, 5));
  EXPECT_FALSE(shape_of_topk_goals(4000, 32768, 10));
}

TEST(SweepTiming, TheCopyIsTheFastestOfFour) {
  ToldRig rig;  // its streaming copy takes half as long
  Ceilings c(rig);
  ASSERT_TRUE(c.copy(4096) && c.memcpy(4096));
  EXPECT_EQ(c.memcpy(4096)->median_us(), 10);
  EXPECT_EQ(c.copy(4096)->median_us(), 5);
}

TEST(SweepTiming, TheFastestIsOfAllWaysAndOfReadsOnlyWhereTheyAreAskedFor) {
  ToldRig rig;
  Ceilings c(rig);
  ASSERT_TRUE(c.fastest(4096, false) && c.fastest(4096, true));
  EXPECT_EQ(c.copy(4096)->median_us(), 5);
  EXPECT_EQ(c.fastest(4096, false)->median_us(), 4);
  EXPECT_EQ(c.fastest(4096, true)->median_us(), 3);
  const std::int64_t before = rig.copies;
  c.fastest(4096, true);
  EXPECT_EQ(rig.copies, before) << "once";
  c.forget(4096);
  c.fastest(4096, false);
  EXPECT_EQ(rig.copies, before + 5) << "again";
  rig.room = false;
  EXPECT_EQ(c.fastest(1 << 20, true), nullptr);
}

TEST(SweepTiming, MeasuresACeilingOnce) {
  ToldRig rig;
  Ceilings c(rig);
  ASSERT_NE(c.copy(4096), nullptr);
  EXPECT_EQ(c.copy(4096), c.copy(4096));
  EXPECT_EQ(c.copy(4096)->cold, "told");
  EXPECT_EQ(rig.copies, 4) << "one of each kind";
  c.copy(8192);
  EXPECT_EQ(rig.copies, 8);
  rig.room = false;
  EXPECT_EQ(c.copy(1 << 20), nullptr);
  EXPECT_EQ(c.read(1 << 20), nullptr);
  EXPECT_EQ(c.empty(), nullptr);
}

}  // namespace
}  // namespace assay
