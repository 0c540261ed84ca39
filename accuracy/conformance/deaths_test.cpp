// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/deaths.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace assay::conformance {
namespace {

using std::chrono::seconds;

/// A kernel for multiples of 4 up to 1024; other lengths end its process. Each death takes a second.
void launch(Deaths& deaths, std::int64_t V) { deaths.saw(V, 256, V % 4 != 0 || V > 1024, seconds(1)); }

TEST(Deaths, LengthsThatLiveAreNeverLeftOut) {
  Deaths deaths;
  for (std::int64_t V = 1; V < 3000; V += 7) launch(deaths, V);
  for (std::int64_t V = 8; V <= 1000; V += 4) EXPECT_FALSE(deaths.leaves_out(V, 256, 1)) << V;
}

TEST(Deaths, OfOthersOneInSixteenIsLaunched) {
  Deaths deaths;
  for (std::int64_t V = 4; V <= 1024; V += 4) launch(deaths, V);
  for (int n = 0; n < 18; ++n) launch(deaths, n % 2 == 0 ? 1 + 2 * n : 1028 + 4 * n);
  for (const std::int64_t V : {33, 1001, 1028, 4096, 100000}) {
    int launched = 0;
    for (std::uint64_t which = 0; which < 160; ++which) launched += !deaths.leaves_out(V, 256, which);
    EXPECT_EQ(launched, 10) << V;
  }
  EXPECT_EQ(deaths.leaves_out(33, 256, 1).why, Why::not_tried);
  EXPECT_TRUE(deaths.leaves_out(33, 256, 1).sentence.starts_with("not tried: V = 33: "));
}

TEST(Deaths, ALengthThatLivesAfterAllWidensTheRule) {
  Deaths deaths;
  for (int n = 0; n < 20; ++n) launch(deaths, 33);
  for (const std::int64_t V : {64, 128, 256}) launch(deaths, V);
  EXPECT_TRUE(deaths.leaves_out(36, 256, 1)) << "64 divides all that live";
  launch(deaths, 36);
  EXPECT_FALSE(deaths.leaves_out(72, 256, 1));
  EXPECT_FALSE(deaths.leaves_out(2048, 256, 1)) << "nothing longer died";
  EXPECT_TRUE(deaths.leaves_out(34, 256, 1));
}

TEST(Deaths, TheMoreDieTheFewerAreLaunched) {
  Deaths deaths;
  const auto launched = [&] {
    int n = 0;
    for (std::uint64_t which = 0; which < 1024; ++which) n += !deaths.leaves_out(33, 256, which);
    return n;
  };
  launch(deaths, 64);
  for (const auto& [most, n] : {std::pair(23, 64), std::pair(31, 16), std::pair(100, 1)}) {
    for (int dead = most == 23 ? 0 : most == 31 ? 23 : 31; dead < most; ++dead) launch(deaths, 33);
    EXPECT_EQ(launched(), n) << most;
  }
}

TEST(Deaths, AreOfAddressesToo) {
  Deaths deaths;
  const auto run = [&](std::int64_t V, std::int64_t alignment) {
    deaths.saw(V, alignment, alignment < 16, seconds(1));
  };
  for (int n = 0; n < 9; ++n)
    for (const std::int64_t alignment : {4, 8, 16, 256}) run(64, alignment);
  EXPECT_TRUE(deaths.leaves_out(64, 4, 1)) << "its length lives elsewhere";
  EXPECT_TRUE(deaths.leaves_out(64, 8, 1));
  EXPECT_FALSE(deaths.leaves_out(64, 8, 16));
  EXPECT_FALSE(deaths.leaves_out(64, 16, 1));
  // Once a launch at such an address lives, the address is not the cause.
  deaths.saw(64, 4, false, seconds(1));
  EXPECT_FALSE(deaths.leaves_out(64, 8, 1));
}

TEST(Deaths, FewOrQuickOnesLeaveNothingOut) {
  Deaths few, quick;
  for (int n = 0; n + 1 < Deaths::kMost; ++n) launch(few, 33);
  for (int n = 0; n < 1000; ++n) quick.saw(33, 256, true, std::chrono::milliseconds(2));
  EXPECT_FALSE(few.leaves_out(33, 256, 1));
  EXPECT_FALSE(quick.leaves_out(33, 256, 1));
}

TEST(Deaths, WhereNoLengthLivesSomeAreLaunched) {
  Deaths deaths;
  for (int n = 0; n < 20; ++n) launch(deaths, 33);
  EXPECT_TRUE(deaths.leaves_out(64, 256, 3));
  EXPECT_FALSE(deaths.leaves_out(64, 256, 16));
}

}  // namespace
}  // namespace assay::conformance
