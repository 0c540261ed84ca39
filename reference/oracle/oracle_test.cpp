// SPDX-License-Identifier: Apache-2.0
// Compares the oracle with a direct evaluation at 1000 bits, with Eigen, and with itself at other precisions.
#include "reference/oracle/oracle_test.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/oracle/oracle_exp.hpp"
#include "reference/parallel.hpp"

namespace assay::oracle_test {
namespace {

TEST(Oracle, AgreesWithDirectEvaluation) {
  for_shapes({1, 2, 3, 33, 200}, [](const Tensor& x) {
    const RowTruth t = solve(x);
    expect_direct(t, x.dtype);
    EXPECT_EQ(t.undecided, 0);
  });
  for (Dtype t : kDtypes) {
    const Tensor x = make(kShapes[1], t, 4099);
    expect_direct(solve(x), t);
  }
}

TEST(Oracle, EigenOverlapsEveryEnclosure) {
  for_shapes({1, 2, 3, 33, 1000, 4099}, [](const Tensor& x) {
    const RowTruth t = solve(x);
    EXPECT_EQ(t.undecided, 0);
    const std::vector<Enclosure> other = eigen_softmax(x.dtype, x.row(0), x.V);
    ASSERT_EQ(other.size(), t.lo.size());
    for (std::size_t i = 0; i < other.size(); ++i) {
      ASSERT_TRUE(other[i].overlaps({t.lo[i], t.hi[i]})) << i;
      // A bound that holds anything would also overlap, so the width is limited.
      const double relative = (static_cast<double>(x.V) + std::abs(t.d[i]) + 16) * 0x1p-52;
      if (std::isfinite(t.d[i]) && t.hi[i] > 0x1p-1000) {
        ASSERT_LE(other[i].hi - other[i].lo, relative * t.hi[i]) << i;
      }
    }
  });
}

TEST(Oracle, EigenLeavesSpecialRowsEmpty) {
  const double nan = std::nan("");
  for (const std::vector<double>& row :
       {std::vector<double>{}, {-kInfinity, -kInfinity}, {1, kInfinity}, {1, nan}, {nan}}) {
    const Tensor x = row_of(Dtype::f32, row);
    EXPECT_TRUE(eigen_softmax(x.dtype, x.row(0), x.V).empty());
  }
}

TEST(Oracle, HigherPrecisionsNest) {
  for_shapes({2, 33, 400}, [](const Tensor& x) {
    const RowTruth wide = solve(x);
    const RowTruth narrow = solve(x, {.first_precision = 512});
    EXPECT_EQ(wide.rounded, narrow.rounded);
    EXPECT_EQ(wide.lse_rounded, narrow.lse_rounded);
    EXPECT_TRUE(wide.s.lo <= narrow.s.lo && narrow.s.hi <= wide.s.hi);
    EXPECT_TRUE(wide.lse.lo <= narrow.lse.lo && narrow.lse.hi <= wide.lse.hi);
    for (std::size_t i = 0; i < wide.lo.size(); ++i)
      ASSERT_TRUE(wide.lo[i] <= narrow.lo[i] && narrow.hi[i] <= wide.hi[i]) << i;
  });
}

TEST(Oracle, ZivRaisesThePrecisionUntilDecided) {
  for_shapes({33, 200}, [](const Tensor& x) {
    const RowTruth reference = solve(x);
    const RowTruth raised = solve(x, {.first_precision = 24});
    EXPECT_EQ(raised.rounded, reference.rounded);
    EXPECT_EQ(raised.lse_rounded, reference.lse_rounded);
    EXPECT_EQ(raised.undecided, 0);
    EXPECT_GT(raised.bits, 24);
    const double size = std::max(std::abs(raised.lse.lo), std::abs(raised.lse.hi));
    if (std::isfinite(size)) {
      EXPECT_LE(raised.lse.hi - raised.lse.lo, 2 * ulp(Dtype::f64, size));
    }
    for (std::size_t i = 0; i < raised.lo.size(); ++i)
      ASSERT_TRUE(raised.lo[i] <= reference.hi[i] && reference.lo[i] <= raised.hi[i]) << i;
  });
}

TEST(Oracle, CountsWhatTheLastPrecisionLeavesOpen) {
  const Tensor x = make(kShapes[0], Dtype::f64, 100);
  EXPECT_EQ(solve(x, {.first_precision = 24, .last_precision = 24}).undecided, 101);  // 100, and the lse
  EXPECT_EQ(solve(x, {.first_precision = 24, .last_precision = 24}).bits, 24);
  EXPECT_EQ(solve(x, {.first_precision = 24, .last_precision = 30}).bits, 30);
}

TEST(Oracle, ExpDifferenceKeepsItsBound) {
  std::mt19937_64 random(5);
  const auto log2_error = [](mpfr_prec_t precision, double x, double m) {
    MpfrValue e(precision), truth(400);
    exp_difference(e, x, m);
    mpfr_set_d(truth, x, MPFR_RNDN);
    mpfr_sub_d(truth, truth, m, MPFR_RNDN);
    mpfr_exp(truth, truth, MPFR_RNDN);
    MpfrValue error(400);
    mpfr_sub(error, e, truth, MPFR_RNDN);
    mpfr_div(error, error, truth, MPFR_RNDN);
    return mpfr_zero_p(error) ? -400 : static_cast<int>(mpfr_get_exp(error));
  };
  int worst_table = -400, worst_general = -400;
  for (int i = 0; i < 20000; ++i) {
    const double m = normal(random, std::ldexp(1.0, static_cast<int>(random() % 40) - 10));
    const double size =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 60) - 46);
    const double x = m - std::min(size, 16384.0);
    if (x - m < kCut) continue;
    worst_table = std::max(worst_table, log2_error(kTablePrecision, x, m));
    if (i % 10 == 0) worst_general = std::max(worst_general, log2_error(60, x, m));
  }
  EXPECT_LE(worst_table, -123);  // the figure of the proof; the oracle needs only 2^-113
  EXPECT_GE(worst_table, -128) << "measured nothing";
  EXPECT_LE(worst_general, 15 - 60);
  // Edge cases: the cut itself, one digit alone, just below a digit, below the last digit, equality.
  for (double d : {-16384.0, -256.0, -1.0, -0x1p-8, -0x1p-16, -0x1p-24, -255.99999999999997,
                   -0x1.fffffffffffffp-25, -0x1p-60, -0x1p-1074})
    EXPECT_LE(log2_error(kTablePrecision, d, 0), -123) << d;
  EXPECT_EQ(log2_error(kTablePrecision, 3, 3), -400);
  EXPECT_EQ(log2_error(24, 1e300, 1e300), -400);
}

TEST(Oracle, SumsBracketOne) {
  for_shapes({2, 33, 1000}, [](const Tensor& x) {
    const RowTruth t = solve(x);
    MpfrValue lo(2300), hi(2300);  // doubles add exactly in this precision
    mpfr_set_zero(lo, 1);
    mpfr_set_zero(hi, 1);
    for (std::size_t i = 0; i < t.lo.size(); ++i) {
      mpfr_add_d(lo, lo, t.lo[i], MPFR_RNDN);
      mpfr_add_d(hi, hi, t.hi[i], MPFR_RNDN);
    }
    EXPECT_TRUE(mpfr_cmp_ui(lo, 1) <= 0 && mpfr_cmp_ui(hi, 1) >= 0);
  });
}

TEST(Oracle, OutputFormatIsItsOwn) {
  const Tensor x = make(kShapes[1], Dtype::f64, 300);
  const RowTruth wide = solve(x);
  for (Dtype out : kDtypes) {
    const RowTruth t = row_truth(x.dtype, x.row(0), x.V, out);
    for (std::size_t i = 0; i < t.lo.size(); ++i) {
      ASSERT_EQ(t.lo[i], wide.lo[i]);
      ASSERT_TRUE(t.rounded[i] == encode(out, t.lo[i]) || t.rounded[i] == encode(out, t.hi[i]));
    }
  }
}

TEST(Oracle, ThreadsAgree) {
  const Tensor x = make(kShapes[0], Dtype::f32, 2000);
  const RowTruth expected = solve(x);
  std::vector<RowTruth> got(4);
  parallel_for(got.size(), static_cast<int>(got.size()), [&](std::size_t i) { got[i] = solve(x); });
  for (const RowTruth& t : got) {
    EXPECT_EQ(t.rounded, expected.rounded);
    EXPECT_EQ(t.lo, expected.lo);
    EXPECT_EQ(t.lse_rounded, expected.lse_rounded);
  }
}

// The oracle on rows with a known answer: constant, special, masked, far apart, at midpoints, and by brute
// force.

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
}  // namespace assay::oracle_test
