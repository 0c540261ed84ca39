// SPDX-License-Identifier: Apache-2.0
// Softmax + top-k of few rows: clusters that hold a row, clusters that share one, and rows in parts.
#include "kernels/building_blocks/onepass_topk/test_launch.hpp"

namespace assay::host::onepass {
namespace {

/// Without a cluster.
template <class T>
void launch_in_parts(const Launch<T>& l) {
  const Stream stream;  // a call keeps a reference
  const Call<T> c(l.problem, l.buffers, stream);
  if (c.k <= kLeastK)
    launch_topk<Accurate, T, kSmallRoom, kFewestThreads<T>>(c, c.problem, selected(c), c.m, c.d,
                                                            c.buffers.workspace);
  else if (c.k <= kFew)
    launch_topk<Accurate, T, kSmallRoom, kFewThreads>(c, c.problem, selected(c), c.m, c.d,
                                                      c.buffers.workspace);
  else
    launch_topk<Accurate, T, kLargeRoom, kSelectThreads>(c, c.problem, selected(c), c.m, c.d,
                                                         c.buffers.workspace);
}

template <class T>
void expect_shared_and_in_parts(std::int64_t rows, std::int64_t V, int k, std::size_t offset) {
  for (const Filling& f : kFillings) {
    Launch<T> shared(f.of, rows, V, k, offset), parts(f.of, rows, V, k, offset);
    const int most = k <= kFew ? 8 : 2;
    EXPECT_EQ(topk_sharing_blocks(shared.problem, 1024 / most, most), most / static_cast<int>(rows)) << V;
    EXPECT_GT(topk_parts(parts.problem), 1);
    TopkLadder<Accurate>::run(Call<T>(shared.problem, shared.buffers, Stream{}));
    launch_in_parts(parts);
    shared.expect_order(f.name);
    parts.expect_order(f.name);
    shared.expect_normalizers_of(parts, f.name);
  }
}

TEST(OnepassTopk, SharesFewLongRows) {
  expect_shared_and_in_parts<f32>(1, 33000, 1, 1);
  expect_shared_and_in_parts<f32>(1, 33000, 30, 3);
  expect_shared_and_in_parts<f16>(2, 66000, 64, 5);
  expect_shared_and_in_parts<bf16>(1, 66000, 256, 0);
}

template <class T>
void expect_held(std::int64_t rows, std::int64_t V, int k, std::size_t offset, int blocks) {
  for (const Filling& f : kFillings) {
    Launch<T> held(f.of, rows, V, k, offset), parts(f.of, rows, V, k, offset);
    EXPECT_EQ(topk_holding_step(held.problem, 8).blocks, blocks) << V;
    const Stream stream;  // a call keeps a reference
    const Call<T> call(held.problem, held.buffers, stream);
    EXPECT_TRUE(held_by_clusters<Accurate>(call, selected(call)));
    launch_in_parts(parts);
    held.expect_order(f.name);
    held.expect_normalizers_of(parts, f.name);
  }
}

TEST(OnepassTopk, HoldsFewRows) {
  expect_held<f32>(2, 6000, 30, 3, 2);
  expect_held<f32>(1, 6000, 9, 1, 4);
  expect_held<f32>(1, 2060, 1, 1, 2);
  expect_held<f32>(1, 32765, 33, 2, 8);
  expect_held<f16>(1, 65529, 64, 5, 8);
  expect_held<f16>(4, 9001, 16, 7, 2);
  expect_held<bf16>(2, 20001, 17, 0, 4);
}

TEST(OnepassTopk, HoldsOnlyWhatRegistersHold) {
  Problem p;
  p.in = Dtype::f32;
  p.rows = 1;
  const std::int64_t most = 8 * kHoldingThreads * kMostHolding;
  for (std::int64_t V = p.V = 1; V < 5 * most; p.V = V += 1 + V / 99) {
    const int blocks = topk_holding_step(p, 8).blocks;
    if (blocks == 1) {
      EXPECT_TRUE(V / 4 <= kFullHolding / 2 || V / 4 > most - 2) << V;
      continue;
    }
    for (const std::int64_t accesses : {V / 4, V / 4 - 2}) {
      EXPECT_LE(slice_of(accesses, blocks), kHoldingThreads * kMostHolding) << V;
      EXPECT_LT((blocks - 1) * slice_of(accesses, blocks), accesses) << V;  // none is empty
    }
  }
  p.rows = 5;
  p.V = 8000;
  EXPECT_EQ(topk_holding_step(p, 8).blocks, 1);  // enough rows for the GPU
}

TEST(OnepassTopk, ClustersOfEverySizeHaveEnoughGroups) {
  for (const auto& [threads, most] : {std::pair{128, 8}, {256, 16}, {512, 16}})
    for (int blocks = 2; blocks <= most; blocks *= 2) {
      const int groups = blocks * threads / 32 * groups_of_warp(blocks, threads);
      EXPECT_TRUE(groups >= kLeastGroups && groups <= std::min(kMostGroups, threads)) << groups;
      EXPECT_LE(blocks * groups_of_warp(blocks, threads), 32);
    }
}

TEST(OnepassTopk, HoldsRowsInSeveralLaunches) {
  Launch<f32> l(kFillings[0].of, 3, 5000, 7, 1);
  Stream one_row;
  one_row.max_blocks = 1;
  const Call<f32> call(l.problem, l.buffers, one_row);
  ASSERT_TRUE(held_by_clusters<Accurate>(call, selected(call)));
  l.expect_order("a launch a row");
  EXPECT_GT(l.m[2], 3.0f);
}

TEST(OnepassTopk, AsManyBlocksShareARowAsHaveOneTileEach) {
  Problem p;
  p.in = Dtype::f32;
  p.rows = 1;
  p.V = 8000;  // 1998 whole accesses at least
  EXPECT_EQ(topk_sharing_blocks(p, 256, 16), 2);
  EXPECT_EQ(topk_sharing_blocks(p, 512, 16), 1);
  p.V = 16000;
  EXPECT_EQ(topk_sharing_blocks(p, 256, 16), 4);
  EXPECT_EQ(topk_sharing_blocks(p, 512, 16), 2);
}

TEST(OnepassTopk, SharesRowsInSeveralLaunches) {
  Launch<f32> l(kFillings[0].of, 3, 20000, 7, 1);
  Stream one_row;
  one_row.max_blocks = 1;
  ASSERT_EQ(topk_sharing_blocks(l.problem, 128, 8), 2);
  TopkLadder<Accurate>::run(Call<f32>(l.problem, l.buffers, one_row));
  l.expect_order("a launch a row");
  for (int r = 0; r < 3; ++r) EXPECT_GT(l.m[static_cast<std::size_t>(r)], 3.0f);
}

TEST(OnepassTopk, SharesOnlyFewLongRows) {
  Problem p;
  p.in = Dtype::f32;
  p.k = 5;
  const auto blocks = [&](std::int64_t rows, std::int64_t V) {
    p.rows = rows;
    p.V = V;
    return topk_sharing_blocks(p, 128, 16);
  };
  EXPECT_EQ(blocks(9, 131072), 1);
  EXPECT_EQ(blocks(1, 4000), 1);
  EXPECT_EQ(blocks(4, 131072), 2);
  EXPECT_EQ(blocks(2, 131072), 4);
  EXPECT_EQ(blocks(1, 131072), 8);
  EXPECT_EQ(blocks(1, std::int64_t{1} << 21), 1);  // longer than a cluster should take
  for (std::int64_t V = 1; V < (1 << 21); V += 1 + V / 9) {
    const std::int64_t of_row = blocks(1, V), accesses = V / 4 - 2;
    ASSERT_TRUE(of_row == 1 || (of_row - 1) * slice_of(accesses, static_cast<int>(of_row)) < accesses) << V;
  }
}

TEST(OnepassTopk, FewerNumbersThanKInARowThatIsShared) {
  const auto only = [](std::int64_t i, std::mt19937&) { return i % 9000 == 77 ? 1.0f : kNan; };
  Launch<f32> l(only, 1, 40000, 20, 2);
  ASSERT_GT(topk_sharing_blocks(l.problem, 128, 8), 1);
  TopkLadder<Accurate>::run(Call<f32>(l.problem, l.buffers, Stream{}));
  l.expect_order("five numbers");
  Launch<f32> held(only, 1, 28000, 20, 2);
  ASSERT_GT(topk_holding_step(held.problem, 8).blocks, 1);
  TopkLadder<Accurate>::run(Call<f32>(held.problem, held.buffers, Stream{}));
  held.expect_order("four numbers");
}

/// Where only (m, d) is wanted, the first block needs nothing more than those, and may end before others. No
/// schedule makes another block reach into its memory then.
TEST(OnepassTopk, AClusterMayBeAskedForTheNormalizerAlone) {
  Launch<f32> held(kFillings[0].of, 1, 6000, 30, 0), shared(kFillings[0].of, 1, 40000, 30, 0);
  for (Launch<f32>* const l : {&held, &shared}) {
    l->buffers.probs = nullptr;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      executor::Schedule schedule;
      schedule.seed = seed;
      executor::set_schedule(schedule);
      l->m[0] = 0;
      TopkLadder<Accurate>::run(Call<f32>(l->problem, l->buffers, Stream{}));
      EXPECT_GT(l->m[0], 3.0f) << seed;
    }
  }
  executor::set_schedule({});
}

}  // namespace
}  // namespace assay::host::onepass
