// SPDX-License-Identifier: Apache-2.0
// What timing in a worker says where there is nothing to time on. The times themselves need a GPU
// (reports/sweep/device_test.cpp).
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/supervisor.hpp"

namespace assay::isolation {
namespace {

TEST(Timed, BuffersOfASetLieWhereTheSweepPutsThem) {
  const TimedSets sets{nullptr, 0, 0, 3, 1024, 512, 256, 2048};
  const TimedSets::At first = sets.at(0), last = sets.at(2);
  EXPECT_EQ(first.logits, 0u);
  EXPECT_EQ(first.values, 3u * 1024);
  EXPECT_EQ(first.indices, 3u * 1024 + 512);
  EXPECT_EQ(first.workspace, 3u * (1024 + 512 + 256));
  EXPECT_EQ(last.logits, 2u * 1024);
  EXPECT_EQ(last.values, 3u * 1024 + 2 * (512 + 256));
  EXPECT_EQ(last.indices, last.values + 512);
  EXPECT_EQ(last.workspace, first.workspace + 2 * 2048);
}

TEST(Timed, AKernelOnTheCpuIsNotTimed) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = kernel("right");
  EXPECT_NE(v.launcher->cannot_time().find("runs on the CPU"), std::string::npos);
  Trial t(2, 33);
  const TimedOutcome o = v.launcher->time(v, t.problem, {}, {});
  EXPECT_EQ(o.launch.ended, Ended::fault);
  EXPECT_EQ(o.us, 0);
  v.launcher->forget_sets();
  EXPECT_EQ(t.run(v).fault, "");
  EXPECT_TRUE(t.right());
}

TEST(Timed, WithoutADeviceNoNumberComesBackAndTheWorkerStays) {
  ASSAY_NEEDS_FIXTURES();
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "this machine has a GPU";
  Supervisor s({true, fixture("fixture_kernels")}, {});
  ASSERT_GT(s.load(), 0u);
  EXPECT_EQ(s.cannot_time(true), unavailable_reason(Backend::cuda));
  Trial t(2, 33);
  const TimedOutcome o = s.time(0, t.problem, {}, {});
  EXPECT_FALSE(o.launch.ok());
  EXPECT_EQ(o.us, 0);
  // The worker answers the request itself, too.
  s.forget_sets();
  EXPECT_EQ(s.describe(0).device_type, 1);
}

}  // namespace
}  // namespace assay::isolation
