// The merge of a cluster's values: it takes any number of them, and keeps NaN. The host executor has no
// clusters, so a kernel with the values of one is run here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#define ASSAY_BACKEND host
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::host::onepass {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

__global__ void merge_values(const Normalizer* values, int count, Normalizer* all) {
  all[threadIdx.x] = merge_all<AccurateExp>(values, count, static_cast<int>(threadIdx.x));
}

/// What every lane of a warp gets.
std::vector<Normalizer> merged(const std::vector<Normalizer>& values) {
  std::vector<Normalizer> all(32);
  launch(merge_values, 1, 32, 0, Stream{}, values.data(), static_cast<int>(values.size()), all.data());
  return all;
}

TEST(OnepassTeam, MergesAnyNumberOfValues) {
  for (const int count : {1, 31, 32, 33, 64, 512}) {
    std::vector<Normalizer> values(static_cast<std::size_t>(count), identity());
    values.back() = {0.0f, 4.0f};
    values.front() = {1.0f, 2.0f};
    for (const Normalizer& n : merged(values)) {
      EXPECT_EQ(n.m, 1.0f) << count;
      EXPECT_FLOAT_EQ(n.d, count == 1 ? 2.0f : 2.0f + 4.0f * std::exp(-1.0f)) << count;
    }
  }
}

// A slice of only -inf and NaN has the value (-inf, NaN). Wherever it stands, the row is NaN.
TEST(OnepassTeam, ANanBesideAnEmptyMaximumIsKept) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t count : {32u, 64u, 512u})
    for (std::size_t at = 0; at < count; at += 7) {
      std::vector<Normalizer> values(count, {0.0f, 256.0f});
      values[at] = {-kInfinity, nan};
      for (const Normalizer& n : merged(values)) EXPECT_TRUE(std::isnan(n.d)) << at << " of " << count;
      std::fill(values.begin(), values.end(), identity());
      values[at] = {-kInfinity, nan};
      for (const Normalizer& n : merged(values)) EXPECT_TRUE(std::isnan(n.d)) << at << " of " << count;
    }
}

// A step never asks for more threads than a block has, and holds the row unless it says that it does not.
TEST(OnepassTeam, AStepHoldsItsRow) {
  for (const Gpu gpu : {Gpu{}, Gpu{108, 0}, Gpu{108, 0, true}, Gpu{132, 8}, Gpu{132, 16}, Gpu{132, 16, true}})
    for (const std::int64_t rows : {1, 10, 200, 4000})
      for (std::int64_t V = 1; V < (std::int64_t{1} << 24); V += 1 + V / 37) {
        const Step s = step_for<f16>(V, rows, gpu);
        const std::int64_t whole = V / kPerAccess<f16>,
                           per_row = s.rung == Rung::lanes ? ceil_div(V, 8) : whole;
        ASSERT_LE(s.threads, kMostThreads) << V;
        if (s.rung == Rung::grid) {
          // Every block has its place: two of 512 threads or one of 1024 on a multiprocessor.
          const std::int64_t each = s.room == 0 && s.threads <= kMostThreads / 2 ? 2 : 1;
          ASSERT_LE(rows * s.blocks, each * gpu.multiprocessors) << V << ", " << rows;
          ASSERT_LE(s.blocks, kMostTeam) << V;
          ASSERT_LE(rows, kMostTeams) << V;
        } else {
          ASSERT_LE(s.blocks, std::max(gpu.most_blocks, 1)) << V;
        }
        ASSERT_LE(s.room, kMostRoom) << V;
        ASSERT_TRUE(s.room == 0 || gpu.most_blocks > 0) << V;
        const std::int64_t held = (std::int64_t{s.threads} * s.count + s.room) * s.blocks;
        if (s.again) {
          ASSERT_GT(per_row, held) << V << ", " << rows;
        } else {
          ASSERT_GE(held, per_row) << V << ", " << rows;
        }
      }
}

}  // namespace
}  // namespace assay::host::onepass
