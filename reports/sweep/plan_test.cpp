// SPDX-License-Identifier: Apache-2.0
// The order of a sweep on a GPU: what the table of goals needs comes first, in every set. Planning needs no
// GPU.
#include "reports/sweep/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kernels/registry.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

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
