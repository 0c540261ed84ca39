// SPDX-License-Identifier: Apache-2.0
// How often a launch is timed, on a simulated machine with given times.
#include "reports/sweep/timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "kernels/registry.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/sweep/accesses.hpp"
#include "reports/sweep/plan.hpp"
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

// A profiler's table becomes records. A table that does not fit its plan is refused.

std::string header() {
  std::string names = "\"ID\",\"Kernel Name\"", units = "\"\",\"\"";
  std::istringstream list(ncu_metrics());
  for (std::string m; std::getline(list, m, ',');) {
    names += ",\"" + m + "\"";
    units += m.find("dram__bytes") == 0            ? ",\"Mbyte\""
             : m.find("time") != std::string::npos ? ",\"ns\""
                                                   : ",\"\"";
  }
  return "==PROF== Connected\n" + names + "\n" + units + "\n";
}
/// A table line for a launch that took `ns` and read and wrote this many MB; `rest`: the other metrics in
/// order.
std::string launch(const std::string& name, double ns, double read, double write, const std::string& rest) {
  std::ostringstream s;
  s << "\"1\",\"" << name << "\",\"" << ns << "\",\"" << read << "\",\"" << write << "\"," << rest << "\n";
  return s.str();
}
const std::string kRest = R"("1,000,000","500,000","4,096,000","50","90","80","32","0","0","16")";
const std::string kBegins =
    launch("assay_point_begins()", 1000, 0, 0, R"("0","0","1","1","1","0","8","0","0","n/a")");
const std::string kEnds =
    launch("assay_point_ends()", 1000, 0, 0, R"("0","0","1","1","1","0","8","0","0","n/a")");

std::filesystem::path file_of(const std::string& text) {
  static const TestFolder folder;
  const auto file = folder.path() / "ncu.csv";
  std::ofstream(file) << text;
  return file;
}

TEST(NcuTable, SumsTheLaunchesOfAPoint) {
  const std::vector<AccessPoint> points = {{"online_block/f32@host", 4000, 4096, 0}};
  const auto file = file_of(
      header() + launch("warm_up", 1, 1, 1, kRest) + kBegins + launch("first", 20000, 65.536, 32.768, kRest) +
      launch("second", 60000, 65.536, 32.768, kRest) + kEnds + launch("fill", 1, 1, 1, kRest));
  const std::vector<AccessRecord> r = read_ncu(file, points, "a GPU");
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].kernels, 2);
  EXPECT_DOUBLE_EQ(*r[0].dram_read, 2.0);
  EXPECT_DOUBLE_EQ(*r[0].dram_write, 1.0);
  EXPECT_NEAR(*r[0].l2_read, 2 * 1e6 * 32 / (4000.0 * 4096 * 4), 1e-12);
  EXPECT_DOUBLE_EQ(*r[0].time_us, 80.0);
  EXPECT_DOUBLE_EQ(*r[0].instructions_per_element, 2 * 4096000.0 * 32 / (4000.0 * 4096));
  EXPECT_DOUBLE_EQ(*r[0].issue_share, 0.5);
  EXPECT_EQ(*r[0].registers, 32);
  EXPECT_EQ(*r[0].sectors_per_request, 16);
  EXPECT_EQ(*r[0].claimed_loads, 2);
}

TEST(NcuTable, RefusesWhatDoesNotFitThePlan) {
  const std::vector<AccessPoint> one = {{"online_block/f32@host", 1, 1, 0}};
  EXPECT_THROW(read_ncu(file_of(header() + launch("k", 1, 1, 1, kRest)), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of(header() + kBegins), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of(header() + kBegins + kBegins + launch("k", 1, 1, 1, kRest)), one, ""),
               InputError);
  EXPECT_THROW(read_ncu(file_of("no table\n"), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"), one, ""), InputError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Accesses, HostCountsAreExact) {
  const auto points =
      access_points(Backend::host, {"safe_block/*@host", "online_topk_block/f32@host"}, {4096}, 2);
  ASSERT_EQ(points.size(), 4u);
  for (const AccessRecord& r : count_on_host(points)) {
    EXPECT_NEAR(*r.loads, *r.claimed_loads, 0.02) << r.key;
    EXPECT_NEAR(*r.stores, *r.claimed_stores, 0.02) << r.key;
  }
  EXPECT_THROW(access_points(Backend::host, {"nothing*"}, {64}, 1), InputError);
}
#endif

// The order of a sweep on a GPU: what the table of goals needs comes first, in every set. Planning needs no
// GPU.

class SweepPlan : public testing::TestWithParam<SweepSet> {
 protected:
  void SetUp() override {
    if (!find_variant("onepass_fast/f32@cuda")) GTEST_SKIP() << "this build has no CUDA side";
    SweepSelection s;
    s.set = GetParam();
    plan_ = make_sweep_plan(s);
  }
  /// The place of a configuration, or the plan's end.
  std::ptrdiff_t place(const char* key, std::int64_t rows, std::int64_t V) const {
    return std::find_if(plan_.begin(), plan_.end(),
                        [&](const SweepJob& j) {
                          return j.subject->variant.key() == key && j.rows == rows && j.V == V;
                        }) -
           plan_.begin();
  }
  std::vector<SweepJob> plan_;
};

TEST_P(SweepPlan, TheTableOfGoalsComesFirst) {
  std::ptrdiff_t last = 0;
  for (const char* key : {"onepass_fast/f32@cuda", "onepass_fast/f16@cuda", "onepass_fast/bf16@cuda"})
    for (const auto& [rows, V] : {std::pair{4000, 32},
                                  {4000, 1025},
                                  {4000, 262144},
                                  {4000, 1048576},
                                  {10, 25000},
                                  {10, 1048576},
                                  {1, 128256},
                                  {1, 1048576}})
      last = std::max(last, place(key, rows, V));
  EXPECT_LT(last, 200) << "of " << plan_.size();
  EXPECT_LT(last, place("online_block/f32@cuda", 4000, 4032));
  EXPECT_LT(last, place("onepass/f32@cuda", 4000, 4096));
}

TEST_P(SweepPlan, EveryShapeOfTheGoalsOfTopkIsPlannedEarly) {
  std::size_t shapes = 0, found = 0;
  for (const char* key :
       {"onepass_topk_fast/f32@cuda", "onepass_topk_fast/f16@cuda", "onepass_topk_fast/bf16@cuda"})
    for (const std::int64_t rows : {4000, 10})
      for (const std::int64_t V : {8192, 16384, 32768, 65536, 131072, 128256, 262144, 1048576})
        for (const int k : {5, 30, 64, 128, 256}) {
          if (!shape_of_topk_goals(rows, V, k)) continue;
          ++shapes;
          found += std::any_of(
              plan_.begin(), plan_.begin() + std::min<std::ptrdiff_t>(400, std::ssize(plan_)),
              [&](const SweepJob& j) {
                return j.subject->variant.key() == key && j.rows == rows && j.V == V && j.pick.k == k;
              });
        }
  EXPECT_EQ(shapes, 3 * (6 * 2 + 3 * 3 + 3 * 2));
  EXPECT_EQ(found, shapes);
}

TEST_P(SweepPlan, NoConfigurationIsPlannedTwice) {
  std::set<std::tuple<const Subject*, std::int64_t, std::int64_t, int>> seen;
  for (const SweepJob& j : plan_)
    EXPECT_TRUE(seen.emplace(j.subject, j.rows, j.V, j.pick.k).second)
        << j.subject->variant.key() << " V = " << j.V;
}

INSTANTIATE_TEST_SUITE_P(EverySet, SweepPlan,
                         testing::Values(SweepSet::quick, SweepSet::published, SweepSet::full));

}  // namespace
}  // namespace assay
