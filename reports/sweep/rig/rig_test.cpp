// SPDX-License-Identifier: Apache-2.0
// The parts of a rig that need no GPU: rows that are turned, two clocks, launches by a worker.
#include "reports/sweep/rig/rig.hpp"

#include <gtest/gtest.h>

#include "kernels/isolation/worker/device.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"
#include "reports/sweep/rig/clocks.hpp"

namespace assay {

// Where a row lies after all were turned.

namespace {

TEST(Turned, APlaceHoldsWhatTheRowWouldHoldUnturned) {
  for (const std::int64_t distinct : {1, 2, 3, 16, 48})
    for (const std::int64_t rows : {distinct, 2 * distinct, 3 * distinct - 1})
      for (std::int64_t turn = 0; turn < distinct; ++turn) {
        const Turned t{rows, distinct, turn};
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t place = t.place_of(r);
          ASSERT_TRUE(place >= 0 && place < rows) << r << " of " << rows << ", turn " << turn;
          ASSERT_EQ(t.held_by(place), r % distinct) << r << " of " << rows << ", turn " << turn;
        }
      }
  EXPECT_EQ(Turned::unit(16), 1);
  EXPECT_EQ(Turned::unit(48), 16);
  EXPECT_EQ(Turned::unit(50), 1);
}

}  // namespace

// A time that a kernel's process says is held to the clock of this process.

namespace {

/// What is heard of launches that take `us` each on the GPU, and `enqueue` us on the processor, if the worker
/// says that they take `said` us.
TwoClocks heard(double us, double enqueue, std::int64_t launches, double said) {
  const auto n = static_cast<double>(launches);
  return {n * said, 180 + n * (us + enqueue), 20 + n * enqueue};
}

std::string verdict(double us, double enqueue, std::int64_t launches, double said) {
  return contradicted({heard(us, enqueue, 1, said)}, {heard(us, enqueue, launches, said)}, launches, said);
}

TEST(TwoClocks, AnHonestTimeIsExplained) {
  for (const double us : {1.0, 7.0, 40.0, 900.0, 20000.0})
    for (const double enqueue : {2.0, 30.0, 400.0})
      for (const std::int64_t launches : {1, 11, 128}) EXPECT_EQ(verdict(us, enqueue, launches, us), "");
}

TEST(TwoClocks, AShorterTimeThanTheTrueOneIsFound) {
  const std::string why = verdict(900, 4, 12, 7.5);
  EXPECT_NE(why.find("says that a launch takes 7.5 us"), std::string::npos) << why;
  EXPECT_NE(why.find("12 launches"), std::string::npos) << why;
  // Less than a factor of two: no share of the copy's speed need be beyond reach.
  for (const double share : {0.5, 0.6, 0.7}) EXPECT_NE(verdict(900, 4, 12, share * 900), "") << share;
  EXPECT_NE(verdict(40, 4, 128, 28), "");
  EXPECT_NE(verdict(4, 3, 128, 2), "");
}

TEST(TwoClocks, OneDisturbedRequestAccusesNobody) {
  TwoClocks disturbed = heard(40, 4, 128, 40);
  disturbed.waited_us += 50000;
  const TwoClocks quiet = heard(40, 4, 128, 40), one = heard(40, 4, 1, 40);
  EXPECT_EQ(contradicted({one}, {disturbed, quiet}, 128, 40), "");
  EXPECT_NE(contradicted({one}, {disturbed}, 128, 40), "");
}

TEST(TwoClocks, ASlowAnswerForOneLaunchHidesLittle) {
  TwoClocks slow = heard(900, 4, 1, 450);
  slow.waited_us += 1e6;
  EXPECT_NE(contradicted({slow}, {heard(900, 4, 12, 450)}, 12, 450), "");
}

TEST(TwoClocks, WhatIsSaidOfSamplesHoldsForBatches) {
  // A liar that knows a batch by its length, and is honest there.
  const std::string why = contradicted({heard(900, 4, 1, 450)}, {heard(900, 4, 12, 900)}, 12, 450);
  EXPECT_NE(why.find("450 us for a launch of a sample, and 900 us"), std::string::npos) << why;
  EXPECT_EQ(contradicted({heard(900, 4, 1, 900)}, {heard(950, 4, 12, 950)}, 12, 900), "");
  EXPECT_EQ(contradicted({heard(2, 3, 1, 2)}, {heard(3, 3, 128, 3)}, 128, 2), "");
}

TEST(TwoClocks, WithoutASecondClockNothingIsSaid) { EXPECT_EQ(contradicted({}, {}, 1, 40), ""); }

}  // namespace

// The worker's side of launches that are timed, where no memory was lent. The times need a GPU
// (../device_test.cpp).

namespace {

TEST(WorkerLaunches, AWorkerMakesNoLaunchWithoutMemory) {
  using namespace isolation;
  WorkerDevice device;
  Time request;
  request.launches = request.sets = 1;
  Timed timed;
  int calls = 0;
  device.time(request, 0, timed, PluginLibrary(), [&](const std::array<void*, kBuffers>&, void*) {
    ++calls;
    return Said();
  });
  EXPECT_EQ(calls, 0);
  EXPECT_NE(timed.fault.get(), "");
  EXPECT_EQ(timed.us, 0);
  request.launches = 0;
  Timed closed;
  device.time(request, 0, closed, PluginLibrary(), {});
  EXPECT_EQ(closed.fault.get(), "");
}

}  // namespace
}  // namespace assay
