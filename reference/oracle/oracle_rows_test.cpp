// SPDX-License-Identifier: Apache-2.0
// The oracle on rows with a known answer: constant, special, masked, far apart, at midpoints, and by brute
// force.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/oracle/oracle_test.hpp"

namespace assay {
namespace {

using oracle_test::expect_direct;
using oracle_test::kInfinity;
using oracle_test::normal;
using oracle_test::row_of;
using oracle_test::solve;

TEST(Oracle, ConstantRowsAreExact) {
  for (Dtype t : kDtypes)
    for (std::int64_t n : {1, 2, 3, 7, 64, 255, 1000, 4096, 4099})
      for (double c : {0.0, -3.5, 1024.0})
        for (bool masked : {false, true}) {
          std::vector<double> values(static_cast<std::size_t>(n), c);
          if (masked) values.insert(values.begin() + n / 2, 2, -kInfinity);
          const Tensor x = row_of(t, values);
          const RowTruth row = solve(x);
          SCOPED_TRACE(std::string(name(t)) + " n = " + std::to_string(n));
          EXPECT_EQ(row.kind, masked ? RowKind::masked : RowKind::finite);
          EXPECT_EQ(row.finite, n);
          EXPECT_EQ(row.s.lo, static_cast<double>(n));
          EXPECT_EQ(row.s.hi, static_cast<double>(n));
          EXPECT_EQ(row.weighted_distance, 0);
          EXPECT_EQ(row.undecided, 0);
          const bool power = (n & (n - 1)) == 0;
          for (std::size_t i = 0; i < values.size(); ++i) {
            if (std::isinf(values[i])) continue;
            const double p = 1 / static_cast<double>(n);
            ASSERT_TRUE(row.lo[i] <= p && p <= row.hi[i]);
            ASSERT_EQ(row.hi[i] - row.lo[i], power ? 0 : ulp(Dtype::f64, p));
            ASSERT_EQ(row.larger[i], 0);
          }
          expect_direct(row, t);
          if (n == 1) {
            EXPECT_TRUE(row.lse.lo == c && row.lse.hi == c);
            EXPECT_EQ(row.lse_rounded, encode(t, c));
          }
        }
}

TEST(Oracle, OrderAndLargerByBruteForce) {
  std::mt19937_64 random(6);
  const double specials[] = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan(""), -std::nan("")};
  for (Dtype t : kDtypes)
    for (int round = 0; round < 300; ++round) {
      const std::int64_t V = 1 + static_cast<std::int64_t>(random() % 300);
      Tensor x(t, 1, V);
      for (std::int64_t i = 0; i < V; ++i) {
        switch (round % 3) {
          case 0:
            store_bits(t, x.row(0), i, random());
            break;  // any bits: NaN, infinities, subnormals
          case 1:
            x.set(0, i, specials[random() % (round % 2 ? 8 : 4)]);
            break;
          default:
            x.set(0, i, random() % 5 == 0 ? -kInfinity : std::round(normal(random, 3)));
        }
      }
      std::vector<std::int32_t> expected(static_cast<std::size_t>(V));
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        const double u = x.at(0, a), v = x.at(0, b);
        return std::isnan(v) ? !std::isnan(u) : u > v;
      });
      for (bool selection : {true, false}) {
        const RowTruth row = solve(x, {.selection_only = selection});
        ASSERT_EQ(row.order, expected) << name(t) << " round " << round;
        const bool solved = row.kind == RowKind::finite || row.kind == RowKind::masked;
        ASSERT_EQ(row.argmax, solved ? expected[0] : -1);
        ASSERT_EQ(row.larger.size(), solved && !selection ? row.x.size() : 0);
        ASSERT_EQ(row.lo.size(), row.larger.size());
        for (std::size_t i = 0; i < row.larger.size(); ++i) {
          std::set<double> above;
          for (double v : row.x)
            if (std::isfinite(v) && v > row.x[i]) above.insert(v);
          ASSERT_EQ(row.larger[i], static_cast<std::int32_t>(above.size())) << i;
        }
      }
    }
}

TEST(Oracle, SpecialKinds) {
  const double nan = std::nan("");
  const auto kind = [](const std::vector<double>& row) { return solve(row_of(Dtype::f16, row)); };
  EXPECT_EQ(kind({}).kind, RowKind::empty);
  EXPECT_TRUE(kind({}).order.empty());
  EXPECT_EQ(kind({1, 2}).kind, RowKind::finite);
  EXPECT_EQ(kind({1, -kInfinity}).kind, RowKind::masked);
  EXPECT_EQ(kind({-kInfinity}).kind, RowKind::all_neg_inf);
  EXPECT_EQ(kind({-kInfinity}).m, -kInfinity);
  EXPECT_EQ(kind({1, kInfinity, -kInfinity}).kind, RowKind::pos_inf);
  EXPECT_EQ(kind({1, kInfinity, -kInfinity}).m, kInfinity);
  EXPECT_EQ(kind({1, kInfinity, -kInfinity}).finite, 1);
  EXPECT_EQ(kind({1, kInfinity, nan}).kind, RowKind::nan);
  EXPECT_TRUE(std::isnan(kind({1, kInfinity, nan}).m));
  EXPECT_THROW(row_truth(Dtype::f32, nullptr, -1, Dtype::f32), InputError);
}

TEST(Oracle, LargerCountsEveryDistinctFiniteValueForMaskedPositions) {
  const RowTruth t = solve(row_of(Dtype::f32, {-kInfinity, 2, 0.0, -0.0, 2}));
  EXPECT_EQ(t.larger, (std::vector<std::int32_t>{2, 0, 1, 1, 0}));
  EXPECT_EQ(t.order, (std::vector<std::int32_t>{1, 4, 2, 3, 0}));
}

TEST(Oracle, FarTermsNeedNoExponential) {
  const RowTruth t =
      solve(row_of(Dtype::f64, {0, -16383.5, -16384, std::nextafter(-16384, -kInfinity), -1e308}));
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_TRUE(t.lo[i] == 0 && t.hi[i] == 0x1p-1074 && t.rounded[i] == 0) << i;
  EXPECT_TRUE(t.lo[0] == std::nextafter(1, 0) && t.hi[0] == 1);
  EXPECT_EQ(t.rounded[0], encode(Dtype::f64, 1));
  EXPECT_TRUE(t.s.lo == 1 && t.s.hi == 1 + 0x1p-52);
  EXPECT_TRUE(t.lse.lo == 0 && t.lse.hi == 0x1p-1074);
  EXPECT_EQ(t.lse_rounded, 0u);
  EXPECT_EQ(t.undecided, 0);
  EXPECT_EQ(t.bits, 128);
}

TEST(Oracle, DistanceOfAFiniteLogitIsFinite) {
  const RowTruth t = solve(row_of(Dtype::f64, {1.7e308, -1.7e308, -kInfinity}));
  EXPECT_EQ(t.d[1], -std::numeric_limits<double>::max());
  EXPECT_EQ(t.d[2], -kInfinity);
  EXPECT_EQ(t.weighted_distance, 0);
}

TEST(Oracle, LseSurvivesCancellation) {
  // m = -ln k rounded, with k equal logits and one below: ln s cancels m up to the rounding error of m.
  for (Dtype t : kDtypes)
    for (int k : {2, 3, 10}) {
      std::vector<double> row(static_cast<std::size_t>(k), -std::log(k));
      expect_direct(solve(row_of(t, row)), t);
      row.push_back(-45);
      expect_direct(solve(row_of(t, row)), t);
    }
  // m = 0: lse = log1p(e^-90) is a subnormal of bf16 and f32; 1 + e^-90 would lose it.
  for (double d : {-30.0, -90.0, -100.0, -700.0, -740.0}) {
    const Tensor x = row_of(Dtype::f64, {d, 0});
    const RowTruth t = solve(x);
    expect_direct(t, x.dtype);
    EXPECT_NEAR(t.lse.lo, std::exp(d), 1e-13 * std::exp(d) + 0x1p-1073);
  }
}

TEST(Oracle, LseJustAboveATieRoundsUp) {
  // 257 lies halfway between the bf16 values 256 and 258; ln s > 0 is far below any precision in use.
  for (double below : {-3.0, -90.0, -16000.0, -1e30}) {
    const Tensor x = row_of(Dtype::f32, {257, 257 + below});
    const RowTruth t = row_truth(Dtype::f32, x.row(0), 2, Dtype::bf16);
    EXPECT_EQ(decode(Dtype::bf16, t.lse_rounded), 258) << below;
    EXPECT_EQ(t.undecided, 0);
  }
  const Tensor alone = row_of(Dtype::f32, {257});
  EXPECT_EQ(decode(Dtype::bf16, row_truth(Dtype::f32, alone.row(0), 1, Dtype::bf16).lse_rounded), 256);
}

TEST(Oracle, MidpointsOfTheOutputAreDecided) {
  // With f64 logits, p misses a midpoint of a narrower format by less than a few 2^-53. No double enclosure
  // decides the rounding then: the bits must come from MPFR.
  std::mt19937_64 random(7);
  for (Dtype out : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    int straddled = 0;
    for (int i = 0; i < 500; ++i) {
      const double low = decode(out, random() % encode(out, 0.5));
      const double middle = low + (next_up(out, low) - low) / 2;
      const Tensor x = row_of(Dtype::f64, {0, std::log(middle) - std::log1p(-middle)});
      const RowTruth t = row_truth(Dtype::f64, x.row(0), 2, out);
      expect_direct(t, out);
      EXPECT_EQ(t.undecided, 0);
      straddled += encode(out, t.lo[1]) != encode(out, t.hi[1]);
    }
    EXPECT_GT(straddled, 20) << "the inputs no longer attack anything";
  }
}

TEST(Oracle, TruthTakesEveryRow) {
  Tensor x(Dtype::f32, 2, 2);
  x.set(0, 1, 1);
  x.set(1, 0, 2);
  const std::vector<RowTruth> rows = truth(x);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].argmax, 1);
  EXPECT_EQ(rows[1].argmax, 0);
  EXPECT_EQ(rows[1].m, 2);
}

}  // namespace
}  // namespace assay
