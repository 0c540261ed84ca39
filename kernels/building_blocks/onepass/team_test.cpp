// SPDX-License-Identifier: Apache-2.0
// The teams of blocks: the merge of their values takes any number of them, and keeps NaN; a step of the
// ladder holds its row; clusters of every size, on the host executor, give the right sum.
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
  for (const Gpu gpu :
       {Gpu{}, Gpu{108, 0}, Gpu{108, 0, true}, Gpu{132, 8}, Gpu{132, 16}, Gpu{132, 16, true}, kHostExecutor})
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
        ASSERT_LE(s.room, gpu.room) << V;
        ASSERT_TRUE(s.blocks == 1 || s.rung == Rung::grid || s.blocks * s.threads <= gpu.cluster_threads)
            << V;
        ASSERT_TRUE(s.room == 0 || gpu.most_blocks > 0) << V;
        const std::int64_t held = (std::int64_t{s.threads} * s.count + s.room) * s.blocks;
        if (s.again) {
          ASSERT_GT(per_row, held) << V << ", " << rows;
        } else {
          ASSERT_GE(held, per_row) << V << ", " << rows;
        }
      }
}

/// Additions on the longest path of a step with a team of blocks.
template <class T>
std::int64_t longest_path(const Step& s, std::int64_t V) {
  const std::int64_t slice = slice_of(V / kPerAccess<T>, s.blocks);
  const std::int64_t own = std::int64_t{s.count} * kPerAccess<T>;
  const std::int64_t tiles = s.again ? ceil_div(slice, std::int64_t{s.threads} * s.count) : 1;
  const std::int64_t boxes = ceil_div(s.room, std::int64_t{s.threads} * 2);  // as boxed_rung takes them out
  const std::int64_t values = s.blocks * s.threads / 32;
  return own + 1 + (tiles - 1) + boxes + 5 + (ceil_div(values, 32) - 1) + 5;
}
TEST(OnepassTeam, TheClaimedHeightCoversEveryStep) {
  for (const Gpu gpu : {Gpu{}, Gpu{108, 0}, Gpu{132, 8}, Gpu{132, 16}, kHostExecutor})
    for (const std::int64_t rows : {1, 10, 200, 4000})
      for (std::int64_t V = 600; V < (std::int64_t{1} << 24); V += 1 + V / 37) {
        const Step s = step_for<f16>(V, rows, gpu), t = step_for<f32>(V, rows, gpu);
        if (s.rung != Rung::lanes && s.rung != Rung::warp) {
          ASSERT_LE(longest_path<f16>(s, V), (height<Fast, f16>(V))) << V << ", " << rows << ", " << s.blocks;
        }
        if (t.rung != Rung::lanes && t.rung != Rung::warp) {
          ASSERT_LE(longest_path<f32>(t, V), (height<Fast, f32>(V))) << V << ", " << rows << ", " << t.blocks;
        }
      }
}

/// The softmax of two rows by one step, whatever step the ladder would take. `past`: elements between a
/// multiple of 16 bytes and the first row.
void expect_softmax(const Step& s, std::int64_t V, std::int64_t past) {
  std::vector<float> storage(static_cast<std::size_t>(2 * (V + 3) + past + 16)), out(storage.size());
  const auto first = [past](std::vector<float>& v) {
    const auto at = reinterpret_cast<std::uintptr_t>(v.data());
    return v.data() + (32 - at % 32) % 32 / 4 + past;
  };
  float *const x = first(storage), *const p = first(out);
  float m_out[2], d_out[2];
  for (std::int64_t i = 0; i < 2 * (V + 3); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 100;
  const Problem problem{.op = Op::softmax, .rows = 2, .V = V, .in_pitch = V + 3, .out_pitch = V + 3};
  const Buffers buffers{.logits = x, .probs = p, .m = m_out, .d = d_out};
  const Call<float> call(problem, buffers, Stream{});
  if (s.rung == Rung::boxed)
    launch_parts_in_clusters(call, boxed_rung<Accurate, Cluster, float, 8>, s, s.room);
  else if (s.again)
    launch_team<Accurate, float, 8, true>(call, s);
  else
    launch_team<Accurate, float, 8, false>(call, s);
  for (std::int64_t r = 0; r < 2; ++r) {
    const float* const row = x + r * (V + 3);
    const double most = *std::max_element(row, row + V);
    double sum = 0;
    for (std::int64_t j = 0; j < V; ++j) sum += std::exp(row[j] - most);
    EXPECT_EQ(m_out[r], static_cast<float>(most));
    EXPECT_NEAR(d_out[r] / sum, 1, 1e-5);
    for (std::int64_t j = 0; j < V; ++j)
      ASSERT_NEAR(p[r * (V + 3) + j] * sum / std::exp(row[j] - most), 1, 1e-5)
          << j << " of " << V << ", " << s.blocks << " blocks, room " << s.room << ", past " << past;
  }
}

TEST(OnepassTeam, ClustersOfEverySize) {
  for (const int blocks : {2, 4, 8, 16})
    for (const std::int64_t past : {0, 1, 5}) {
      const std::int64_t held =
          std::int64_t{blocks} * 32 * 8 * 4;  // elements in the registers of the cluster
      for (const std::int64_t V : {held - 7, held / 2, std::int64_t{29}, std::int64_t{5}})
        expect_softmax({Rung::cluster, 8, 32, blocks}, V, past);
      expect_softmax({Rung::cluster, 8, 32, blocks, true}, 5 * held / 2 + 3, past);
      expect_softmax({Rung::boxed, 8, 32, blocks, false, 100}, held + 90 * blocks * 4, past);
      expect_softmax({Rung::boxed, 8, 32, blocks, false, 100}, 300, past);
    }
}

}  // namespace
}  // namespace assay::host::onepass
