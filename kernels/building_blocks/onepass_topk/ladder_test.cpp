// SPDX-License-Identifier: Apache-2.0
// Paths of onepass_topk that usual cases rarely meet: buffers that overflow, rows in parts, and rows whose
// columns do not fit into a candidate. Indices are compared with a stable sort. (The values have their bounds
// elsewhere.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#define ASSAY_BACKEND host
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::host::onepass {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Fill = std::function<float(std::int64_t column, std::mt19937& random)>;
struct Filling {
  const char* name;
  Fill of;
};
float normal(std::mt19937& random) { return std::normal_distribution<float>()(random); }

const Filling kFillings[] = {
    {"normal", [](std::int64_t, std::mt19937& r) { return normal(r); }},
    {"constant", [](std::int64_t, std::mt19937&) { return 1.5f; }},
    {"three values", [](std::int64_t, std::mt19937& r) { return static_cast<float>(r() % 3); }},
    {"ascending", [](std::int64_t i, std::mt19937&) { return static_cast<float>(i) / 1024; }},
    {"descending", [](std::int64_t i, std::mt19937&) { return static_cast<float>(-i) / 1024; }},
    {"steps up", [](std::int64_t i, std::mt19937& r) { return static_cast<float>(i / 1000) + normal(r); }},
    {"-inf alone", [](std::int64_t, std::mt19937&) { return -kInfinity; }},
    {"mostly -inf", [](std::int64_t i, std::mt19937& r) { return i % 97 == 5 ? normal(r) : -kInfinity; }},
    {"mostly NaN", [](std::int64_t i, std::mt19937& r) { return i % 500 == 7 ? normal(r) : kNan; }},
    {"signalling NaN",
     [](std::int64_t i, std::mt19937& r) {
       return i % 5 == 2 ? std::numeric_limits<float>::signaling_NaN() : normal(r);
     }},
    // There is room for the ties of a tile. What follows is larger, fills the room, and is not enough.
    {"ties, then few larger ones",
     [](std::int64_t i, std::mt19937&) {
       return i >= 3000 && i < 3040 ? 2.0f : i < 1920 && i % 4 == 0 ? 1.0f : 0.0f;
     }},
    {"ties of 16 bits, then few larger ones",
     [](std::int64_t i, std::mt19937&) {
       return i >= 6000 && i < 6040 ? 2.0f : i < 3840 && i % 8 == 0 ? 1.0f : 0.0f;
     }},
    // So many lanes of a warp have larger ones that it looks like ties; but they are fewer than 30.
    {"ties, then few larger ones in a later tile",
     [](std::int64_t i, std::mt19937&) {
       const bool first = i < 512 && i / 4 % 32 < 10, later = i >= 6016 && i < 6016 + 27 * 4;
       return i % 4 != 0 ? 0.0f : first ? 1.0f : later ? 2.0f : 0.0f;
     }},
    {"equal and negative", [](std::int64_t, std::mt19937&) { return -2.5f; }},
    {"ties of negative logits",
     [](std::int64_t i, std::mt19937& r) {
       return -1.0f - static_cast<float>(i % 7 == 3 ? r() % 3 : r() % 2);
     }},
    {"both zeros", [](std::int64_t, std::mt19937& r) { return r() % 2 ? 0.0f : -0.0f; }},
    {"some +inf", [](std::int64_t i, std::mt19937& r) { return i % 11 == 3 ? kInfinity : normal(r); }},
};

/// The columns of the k largest; of equal ones the smaller first, NaN last, -1 after the last element.
template <class T>
std::vector<int> wanted(const T* x, std::int64_t V, int k) {
  std::vector<int> order(static_cast<std::size_t>(V));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return rank_key(to_float(x[a])) > rank_key(to_float(x[b])); });
  order.resize(static_cast<std::size_t>(k), -1);
  return order;
}

template <class T>
struct Launch {
  std::vector<T> logits, values;
  std::vector<int> indices;
  std::vector<float> m, d;
  std::vector<double> workspace;
  Problem problem;
  Buffers buffers;

  /// The first row begins `offset` elements after an aligned address.
  Launch(const Fill& fill, std::int64_t rows, std::int64_t V, int k, std::size_t offset) {
    std::mt19937 random(1);
    logits.resize(offset + static_cast<std::size_t>(rows * V) + 1);
    for (std::int64_t i = 0; i < rows * V; ++i)
      logits[offset + static_cast<std::size_t>(i)] = from_float<T>(fill(i % V, random));
    values.resize(static_cast<std::size_t>(rows * k));
    indices.assign(static_cast<std::size_t>(rows * k), -7);
    m.resize(static_cast<std::size_t>(rows));
    d.resize(static_cast<std::size_t>(rows));
    problem.op = Op::softmax_topk;
    problem.in = problem.out = DtypeOf<T>::value;
    problem.rows = rows;
    problem.V = problem.in_pitch = V;
    problem.out_pitch = problem.k = k;
    workspace.resize(static_cast<std::size_t>(rows + 1) + TopkLadder<Accurate>::workspace_bytes(problem) / 8);
    buffers.logits = logits.data() + offset;
    buffers.probs = values.data();
    buffers.indices = indices.data();
    buffers.m = m.data();
    buffers.d = d.data();
    buffers.workspace = workspace.data();
  }
  void expect_order(const char* what) const {
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      const auto* const from = indices.data() + r * problem.k;
      ASSERT_EQ(wanted(static_cast<const T*>(buffers.logits) + r * problem.V, problem.V, problem.k),
                std::vector<int>(from, from + problem.k))
          << what << ", V = " << problem.V << ", k = " << problem.k << ", row " << r;
    }
  }
  void expect_normalizers_of(const Launch& other, const char* what) const {
    for (std::size_t r = 0; r < m.size(); ++r) {
      EXPECT_EQ(std::isnan(d[r]), std::isnan(other.d[r])) << what;
      if (std::isnan(d[r])) continue;
      EXPECT_EQ(m[r], other.m[r]) << what;
      EXPECT_NEAR(d[r], other.d[r], 1e-5f * other.d[r]) << what;
    }
  }
};

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
