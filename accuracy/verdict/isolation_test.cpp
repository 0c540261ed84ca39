// SPDX-License-Identifier: Apache-2.0
// A key that runs in a worker process is judged exactly like one that runs in this process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/isolation/isolated.hpp"

namespace assay {
namespace {

TEST(Isolation, RecordsAreThoseOfTheSameKeyInProcess) {
  for (const char* key : {"online_block/f32@host", "safe_block_half/f16@host", "safe_topk_block/bf16@host",
                          "lse_block/f32@host"}) {
    const Variant* here = find_variant(key);
    ASSERT_NE(here, nullptr) << key;
    const Variant there = isolated(*here);
    for (const char* family : {"normal_1", "ramp_1ulp", "inf_warp", "all_neg_inf"}) {
      const Case c(*find_family(family), here->dtype, 129, 3, 7);
      const int k = here->max_k > 0 ? 5 : 0;
      const nlohmann::json inside = to_json(check_case(*here, c, here->op, k));
      nlohmann::json outside = to_json(check_case(there, c, there.op, k));
      // Only a launcher sees late writes; this is the only check that is judged nowhere else.
      EXPECT_EQ(outside["checks"]["late_write"]["failed"], 0) << key << " on " << family;
      outside["checks"].erase("late_write");
      EXPECT_EQ(inside.count("where") + 1, outside.count("where"));
      outside.erase("where");
      EXPECT_TRUE(inside == outside) << key << " on " << family << ": "
                                     << nlohmann::json::diff(inside, outside);
    }
  }
}

TEST(Isolation, EveryBitIsTheSame) {
  const Variant& here = *find_variant("online_topk_block/f32@host");
  const Variant there = isolated(here);
  const Case c(*find_family("normal_10"), Dtype::f32, 4099, 3, 11);
  for (const bool page_end : {false, true})
    for (const Layout& layout : {plain_layout(), hostile_layout()}) {
      Layout l = layout;
      GuardedLaunch a(here, problem_of(here, here.op, 3, 4099, 8, 4099), c.logits(), l);
      l.launch.page_end = page_end;
      GuardedLaunch b(there, problem_of(here, here.op, 3, 4099, 8, 4099), c.logits(), l);
      ASSERT_TRUE(a.run().ok());
      const LaunchOutcome outcome = b.run();
      ASSERT_TRUE(outcome.ok()) << outcome.fault;
      EXPECT_EQ(outcome.late_write, "");
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t j = 0; j < 8; ++j) {
          EXPECT_EQ(a.value_bits(r, j), b.value_bits(r, j));
          EXPECT_EQ(a.index(r, j), b.index(r, j));
        }
      Tally tally;
      b.inspect(tally);
      EXPECT_EQ(tally.failed(), 0);
    }
}

/// Not a limit, because machines differ. The number is for readers of the log.
TEST(Isolation, ALaunchCostsMicroseconds) {
  const Variant& here = *find_variant("online_thread/f32@host");
  const Variant there = isolated(here);
  const Case c(*find_family("normal_1"), Dtype::f32, 33, 1, 1);
  const Problem p = problem_of(here, here.op, 1, 33, 0, 33);
  const auto microseconds = [&](const Variant& v) {
    GuardedLaunch launch(v, p, c.logits(), plain_layout());
    launch.run();
    constexpr int n = 2000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) EXPECT_TRUE(launch.run().ok());
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / n;
  };
  const double inside = microseconds(here), outside = microseconds(there);
  std::printf("one row of 33: %.1f us in process, %.1f us in a worker\n", inside, outside);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    GuardedLaunch launch(there, p, c.logits(), plain_layout());
    there.launcher->restart();
    EXPECT_TRUE(launch.run().ok());
  }
  std::printf(
      "a fresh worker: %.1f ms\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / 10);
}

}  // namespace
}  // namespace assay
