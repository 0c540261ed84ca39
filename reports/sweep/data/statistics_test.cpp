// SPDX-License-Identifier: Apache-2.0
// Compares with values from elsewhere: binomial tables, enumerations by hand, published examples.
#include "reports/sweep/data/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace assay {
namespace {

std::vector<double> ramp(int n, double from = 1) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), from);
  return v;
}

TEST(Quantile, LiesBetweenNeighbours) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({7}, 0.9), 7);
  EXPECT_EQ(quantile(ramp(11), 0.1), 2);
}

// The expected ranks of the 95 % interval are from tables of the sign test.
TEST(MedianInterval, HasTheRanksOfTheSignTest) {
  EXPECT_FALSE(median_interval(ramp(5)));
  EXPECT_EQ(median_interval(ramp(6)), (std::pair<double, double>{1, 6}));
  EXPECT_EQ(median_interval(ramp(10)), (std::pair<double, double>{2, 9}));
  EXPECT_EQ(median_interval(ramp(20)), (std::pair<double, double>{6, 15}));
  EXPECT_EQ(median_interval(ramp(30)), (std::pair<double, double>{10, 21}));
}

// Counts all C(7, 3) orders of 3 and 4 samples.
TEST(MannWhitney, IsExactForFewSamples) {
  std::vector<int> side = {0, 0, 0, 0, 1, 1, 1};
  std::vector<std::vector<double>> of(2);
  std::vector<int> u_of;
  do {
    int u = 0;
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < i; ++j) u += side[i] == 1 && side[j] == 0;
    u_of.push_back(u);
  } while (std::next_permutation(side.begin(), side.end()));
  ASSERT_EQ(u_of.size(), 35u);
  std::sort(side.begin(), side.end());
  do {
    std::vector<double> a, b;
    int u = 0;
    for (std::size_t i = 0; i < 7; ++i) {
      (side[i] == 1 ? a : b).push_back(static_cast<double>(i));
      for (std::size_t j = 0; j < i; ++j) u += side[i] == 1 && side[j] == 0;
    }
    const int least = std::min(u, 12 - u);
    const auto count = std::count_if(u_of.begin(), u_of.end(), [&](int v) { return v <= least; });
    EXPECT_NEAR(mann_whitney(a, b), std::min(1.0, 2 * static_cast<double>(count) / 35), 1e-12);
  } while (std::next_permutation(side.begin(), side.end()));
}

/// Times are often equal, because a timer has a finite resolution. Sets that do not overlap have the same p
/// value with ties as without.
TEST(MannWhitney, TiesWithinASampleHideNoDifference) {
  std::vector<double> before(12, 10.0), after(12, 100.0);
  before[3] = 10.5;
  after[7] = 100.5;
  EXPECT_NEAR(mann_whitney(before, after), least_p(12, 12), 1e-12);
  EXPECT_DOUBLE_EQ(mann_whitney(before, before), 1);
  // Three 1s and three 2s: the sum of every choice of three is at least as far from the mean as theirs.
  EXPECT_NEAR(mann_whitney({1, 1, 2}, {1, 2, 2}), 1, 1e-12);
}

TEST(MannWhitney, KnowsTheLeastItCanSay) {
  for (int n : {3, 7, 15, 30}) {
    const double p = mann_whitney(ramp(n), ramp(n, 1000));
    EXPECT_NEAR(p / least_p(static_cast<std::size_t>(n), static_cast<std::size_t>(n)), 1, 1e-6) << n;
    EXPECT_NEAR(p / mann_whitney(ramp(n, 1000), ramp(n)), 1, 1e-6);
  }
  EXPECT_EQ(mann_whitney({}, {1, 2}), 1);
  EXPECT_EQ(mann_whitney({1, 1, 1}, {1, 1, 1}), 1);
}

// At 5 %, about 100 of 2000 pairs from one distribution look different. Tries samples without ties and with
// ties, which the code handles apart.
TEST(MannWhitney, CallsEqualDistributionsDifferentAsOftenAsItSays) {
  std::mt19937 random(7);
  for (bool ties : {false, true}) {
    int seen = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> a, b;
      for (int i = 0; i < 20; ++i) {
        const auto draw = [&] { return static_cast<double>(ties ? random() % 16 : random()); };
        a.push_back(draw());
        b.push_back(draw());
      }
      seen += mann_whitney(a, b) <= 0.05;
    }
    EXPECT_GT(seen, 40) << ties;
    EXPECT_LT(seen, 140) << ties;
  }
}

TEST(Holm, RaisesAsPublished) {
  // Holm 1979: multiply the smallest p by n, the next by n - 1, and so on; a result is never below the one
  // before it.
  const std::vector<double> p = holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(p[3], 0.02, 1e-15);
  EXPECT_NEAR(p[0], 0.03, 1e-15);
  EXPECT_NEAR(p[2], 0.06, 1e-15);
  EXPECT_NEAR(p[1], 0.06, 1e-15);
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace assay
