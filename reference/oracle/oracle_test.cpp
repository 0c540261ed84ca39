// SPDX-License-Identifier: Apache-2.0
// Compares the oracle with a direct evaluation at 1000 bits, with Eigen, and with itself at other precisions.
#include "reference/oracle/oracle_test.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "reference/oracle/oracle_exp.hpp"
#include "reference/parallel.hpp"

namespace assay {
namespace {

using oracle_test::expect_direct;
using oracle_test::for_shapes;
using oracle_test::kInfinity;
using oracle_test::kShapes;
using oracle_test::make;
using oracle_test::normal;
using oracle_test::row_of;
using oracle_test::solve;

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

}  // namespace
}  // namespace assay
