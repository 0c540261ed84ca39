// SPDX-License-Identifier: Apache-2.0
// Paths of onepass_topk that usual cases rarely meet: buffers that overflow, rows in parts, and rows whose
// columns do not fit into a candidate. Indices are compared with a stable sort. (The values have their bounds
// elsewhere.)
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/building_blocks/onepass_topk/test_launch.hpp"

// These need the name of the backend, defined above.
#include "kernels/building_blocks/onepass_topk/min_p.cuh"
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

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

// min_p and top_p of rows for which no candidates were looked for, as it is with rows that are too long for a
// test: the sets must be those that the candidates give.

constexpr std::int64_t kRows = 4, kV = 2000;

/// Rows of normal logits, of which the last one has a NaN.
template <class T>
struct Sets {
  std::vector<T> logits;
  std::vector<float> m, d, temperatures{0.7f, 1.0f, 1.9f, 3.0f};
  Problem problem;
  Stream stream;  // a call keeps a reference
  float threshold;

  Sets(Op op, float t) : logits(kRows * kV), m(kRows), d(kRows), threshold(t) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 3);
    for (T& x : logits) x = from_float<T>(normal(random));
    logits.back() = from_float<T>(quiet_nan());
    problem.op = op;
    problem.in = problem.out = DtypeOf<T>::value;
    problem.rows = kRows;
    problem.V = problem.in_pitch = problem.out_pitch = kV;
  }
  Call<T> call(Buffers& b, std::vector<T>& outputs) {
    b.logits = logits.data();
    b.probs = outputs.data();
    return {problem, b, stream};
  }
  /// What `rows` writes if it gets the best `count` of each row, 0: none.
  template <class Selection, int kCandidates, class Kernel>
  std::vector<T> written(Kernel rows, bool candidates) {
    std::vector<T> outputs(logits.size(), from_float<T>(-1.0f));
    std::vector<double> workspace(kept_bytes<Selection>(problem, kCandidates) / 8 + 1);
    Buffers b{};
    b.workspace = workspace.data();
    const Call<T> c = call(b, outputs);
    BestOfRows<T> best = launch_selection<Selection, kCandidates>(c);
    if (!candidates) {
      launch_normalizers<Selection>(c, m.data(), d.data());
      best = {{}, nullptr, m.data(), d.data(), 0, false};
    }
    launch(rows, c.blocks(), kSelectThreads, 0, c.stream, c.logits, temperatures.data(), c.probs, best,
           threshold, c.V);
    return outputs;
  }
};

template <class T>
void expect_alike(const std::vector<T>& with, const std::vector<T>& without, int least_kept) {
  int kept = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const float a = to_float(with[i]), b = to_float(without[i]);
    if (i / kV == kRows - 1) {
      EXPECT_TRUE(a != a && b != b) << i;
      continue;
    }
    EXPECT_EQ(a == 0, b == 0) << i;
    EXPECT_NEAR(a, b, 1e-3 * a) << i;
    kept += a != 0;
  }
  EXPECT_GE(kept, least_kept);
}

template <class T, class Tempering>
void expect_same_sets() {
  using MinP = MinPLadder<Accurate, Tempering>;
  const auto min_p = min_p_rows<Accurate, Tempering, T>;
  Sets<T> some(Op::min_p, 0.05f);
  expect_alike(some.template written<typename MinP::Selection, kMinPCandidates>(min_p, true),
               some.template written<typename MinP::Selection, kMinPCandidates>(min_p, false), 4);
  using TopP = TopPLadder<Accurate, Tempering>;
  const auto top_p = top_p_rows<Accurate, Tempering, T>;
  Sets<T> nucleus(Op::top_p, 0.5f);
  expect_alike(nucleus.template written<typename TopP::Selection, kTopPCandidates>(top_p, true),
               nucleus.template written<typename TopP::Selection, kTopPCandidates>(top_p, false), 4);
}

TEST(OnepassSampler, SetsWithoutCandidatesAreTheSame) {
  expect_same_sets<f32, NoTemperature>();
  expect_same_sets<f16, NoTemperature>();
  expect_same_sets<bf16, NoTemperature>();
}

TEST(OnepassSampler, TheSameWithATemperature) {
  expect_same_sets<f32, Temperature>();
  expect_same_sets<f16, Temperature>();
  expect_same_sets<bf16, Temperature>();
}

// The logits divided before the call, by a kernel without a temperature.
template <template <class, class> class Ladder, int kCandidates, class Rows1, class Rows2>
void expect_divided(Op op, float threshold, Rows1 tempered, Rows2 plain, bool candidates) {
  Sets<f32> undivided(op, threshold), divided(op, threshold);
  for (std::size_t i = 0; i < divided.logits.size(); ++i) divided.logits[i] /= divided.temperatures[i / kV];
  using With = typename Ladder<Accurate, Temperature>::Selection;
  using Without = typename Ladder<Accurate, NoTemperature>::Selection;
  expect_alike(undivided.template written<With, kCandidates>(tempered, candidates),
               divided.template written<Without, kCandidates>(plain, candidates), 4);
}

TEST(OnepassSampler, ATemperatureDividesTheLogits) {
  for (const bool candidates : {true, false}) {
    expect_divided<MinPLadder, kMinPCandidates>(Op::min_p, 0.05f, min_p_rows<Accurate, Temperature, f32>,
                                                min_p_rows<Accurate, NoTemperature, f32>, candidates);
    expect_divided<TopPLadder, kTopPCandidates>(Op::top_p, 0.5f, top_p_rows<Accurate, Temperature, f32>,
                                                top_p_rows<Accurate, NoTemperature, f32>, candidates);
  }
}

// 0 and NaN are no temperatures. No row is all zeros because of one.
TEST(OnepassSampler, ATemperatureThatIsNoneGivesNan) {
  for (const float t : {0.0f, quiet_nan()}) {
    Sets<f32> some(Op::min_p, 0.05f), nucleus(Op::top_p, 0.5f);
    some.temperatures[0] = nucleus.temperatures[0] = t;
    const auto of_min_p =
        some.template written<MinPLadder<Accurate, Temperature>::Selection, kMinPCandidates>(
            min_p_rows<Accurate, Temperature, f32>, true);
    const auto of_top_p =
        nucleus.template written<TopPLadder<Accurate, Temperature>::Selection, kTopPCandidates>(
            top_p_rows<Accurate, Temperature, f32>, true);
    for (std::size_t i = 0; i < kV; ++i) {
      EXPECT_TRUE(of_min_p[i] != of_min_p[i]) << i;
      EXPECT_TRUE(of_top_p[i] != of_top_p[i]) << i;
    }
  }
}

}  // namespace
}  // namespace assay::host::onepass
