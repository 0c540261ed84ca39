// SPDX-License-Identifier: Apache-2.0
// Paths of onepass_topk that usual cases rarely meet: buffers that overflow, rows in parts, and rows whose
// columns do not fit into a candidate. Indices are compared with a stable sort. (The values have their bounds
// elsewhere.)
#include "kernels/building_blocks/onepass_topk/test_launch.hpp"

namespace assay::host::onepass {
namespace {

template <class T>
void expect_order_of_all(std::int64_t rows, std::int64_t V, int k, std::size_t offset) {
  for (const Filling& f : kFillings) {
    Launch<T> l(f.of, rows, V, k, offset);
    TopkLadder<Accurate>::run(Call<T>(l.problem, l.buffers, Stream{}));
    l.expect_order(f.name);
  }
}

TEST(OnepassTopk, IsRightWhateverTheOrderOfTheElements) {
  for (const int k : {1, 16, 17, 64, 65, 256})
    for (const std::int64_t V : {100, 4097, 12289}) {
      expect_order_of_all<f32>(5, V, k, 0);
      expect_order_of_all<f16>(5, V, k, 3);
    }
  expect_order_of_all<bf16>(5, 20000, 30, 1);
}

/// Rows of many tiles: the block meets after some of them only, and what it has kept may find no room.
TEST(OnepassTopk, IsRightInRowsOfManyTiles) {
  expect_order_of_all<f32>(5, 9 * RowSizes<kFew>::kTile * 4 + 77, 30, 1);
  expect_order_of_all<f16>(5, 5 * RowSizes<kFew>::kTile * 8, 64, 5);
  expect_order_of_all<f32>(5, 9 * RowSizes<kStreamK>::kTile * 4 + 1, 256, 0);
  expect_order_of_all<bf16>(5, 4 * RowSizes<kStreamK>::kTile * 8, 100, 3);
}

/// Hits of long rows and a large k are thinned out.
TEST(OnepassTopk, RowsWithManyHitsGoToTheKernelThatThinsThemOut) {
  Problem p;
  p.in = Dtype::f32;
  const auto few = [&](std::int64_t V, int k) {
    p.V = V;
    p.k = k;
    return few_hits(p);
  };
  EXPECT_TRUE(few(1000, 64));
  EXPECT_TRUE(few(32768, 64));
  EXPECT_FALSE(few(262144, 64));
  EXPECT_TRUE(few(262144, 30));
  EXPECT_TRUE(few(1 << 20, 32));
  EXPECT_FALSE(few(std::int64_t{1} << 32, 32));
  EXPECT_TRUE(few(std::int64_t{1} << 32, 5));
}

/// Of 16-bit logits a bound is exact, whatever the sign.
template <class T>
void expect_exact_bounds() {
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    T x;
    std::memcpy(&x, &word, sizeof x);
    const float value = to_float(x);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bound_of<T>(unsigned_rank(value) >> kUnrankedBits<T>), value) << bits;
  }
}
TEST(OnepassTopk, BoundsOf16BitsAreExact) {
  expect_exact_bounds<f16>();
  expect_exact_bounds<bf16>();
}
/// Of f32 it lies below by less than 2^8 neighbours.
TEST(OnepassTopk, BoundsOf32BitsAreNotAbove) {
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) {
    const float x = std::ldexp(normal(random), static_cast<int>(random() % 250) - 125);
    const float bound = bound_of<f32>(unsigned_rank(x) >> kUnrankedBits<f32>);
    ASSERT_LE(bound, x);
    ASSERT_LT(unsigned_rank(x) - unsigned_rank(bound), 256u) << x;
  }
}

TEST(OnepassTopk, ManyRowsAreInOnePart) {
  const Launch<f32> l(kFillings[0].of, 5, 12289, 5, 0);
  EXPECT_EQ(topk_sharing_blocks(l.problem, 128, 8), 1);
  EXPECT_EQ(topk_parts(l.problem), 1);
}

TEST(OnepassTopk, SelectsManyByTheirDigits) {
  for (const int k : {257, 1000, 4200}) {
    expect_order_of_all<f32>(3, 4097, k, 1);
    expect_order_of_all<bf16>(9, 4097, k, 0);
  }
  expect_order_of_all<f16>(1, 66000, 3000, 3);  // in parts
}

TEST(OnepassTopk, NoPartIsEmpty) {
  for (const std::int64_t rows : {1, 2, 5})
    for (std::int64_t V = 1; V < (std::int64_t{1} << 33); V += 1 + V / 7) {
      Problem p;
      p.in = Dtype::f16;
      p.rows = rows;
      p.V = V;
      p.k = 1;
      const std::int64_t parts = topk_parts(p), accesses = V / 8 - 2;
      ASSERT_GE(parts, 1);
      ASSERT_TRUE(parts == 1 || (parts - 1) * slice_of(accesses, static_cast<int>(parts)) < accesses) << V;
    }
}

// Rows of 2^32 - 1 elements are too long for a test; the path takes any row.
TEST(OnepassTopk, RoundsFindTheSame) {
  for (const Filling& f : kFillings) {
    Launch<f32> l(f.of, 2, 700, 40, 1);
    launch_rounds<Accurate>(Call<f32>(l.problem, l.buffers, Stream{}));
    l.expect_order(f.name);
  }
  Launch<f32> few(kFillings[0].of, 1, 3, 5, 0);
  launch_rounds<Accurate>(Call<f32>(few.problem, few.buffers, Stream{}));
  few.expect_order("fewer elements than k");
}

}  // namespace
}  // namespace assay::host::onepass
