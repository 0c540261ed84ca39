// SPDX-License-Identifier: Apache-2.0
// Compares ln s and the log-probabilities from a row's enclosures with MPFR at 300 bits, where doubles cancel
// most.
#include "accuracy/judge/log_truth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/inputs/inputs.hpp"
#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

/// a <= y <= b, exactly.
bool encloses(const Enclosure& e, mpfr_srcptr y) {
  return mpfr_cmp_d(y, e.lo) >= 0 && mpfr_cmp_d(y, e.hi) <= 0;
}

void expect_contains(const RowTruth& row) {
  MpfrValue s(300), t(300), m(300);
  mpfr_set_d(m, row.m, MPFR_RNDN);
  mpfr_set_zero(s, 1);
  for (double x : row.x) {
    if (std::isinf(x)) continue;
    mpfr_set_d(t, x, MPFR_RNDN);
    mpfr_sub(t, t, m, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_add(s, s, t, MPFR_RNDN);
  }
  mpfr_log(s, s, MPFR_RNDN);
  const Enclosure log_sum = log_sum_truth(row);
  EXPECT_TRUE(encloses(log_sum, s)) << log_sum.lo << " " << log_sum.hi;
  // Terms below double's range are known only as an interval.
  if (log_sum.lo > 1e-200) {
    EXPECT_LE(log_sum.hi / log_sum.lo, 1 + 1e-11);
  }
  for (std::size_t j = 0; j < row.x.size(); ++j) {
    const Enclosure y = log_prob_truth(row, log_sum, static_cast<std::int64_t>(j));
    if (std::isinf(row.x[j])) {
      EXPECT_TRUE(std::isinf(y.lo) && y.lo == y.hi && y.lo < 0);
      continue;
    }
    mpfr_set_d(t, row.x[j], MPFR_RNDN);
    mpfr_sub(t, t, m, MPFR_RNDN);
    mpfr_sub(t, t, s, MPFR_RNDN);
    ASSERT_TRUE(encloses(y, t)) << "column " << j << ": " << y.lo << " " << y.hi;
  }
  free_mpfr_cache_at_thread_exit();
}

TEST(LogTruth, ContainsTheExactLogarithms) {
  for (Dtype dtype : {Dtype::f32, Dtype::f16})
    for (const char* family :
         {"normal_1", "normal_10", "uniform_80", "constant", "spike", "long_tail", "lane_maxima",
          "mixed_magnitudes", "exact_extremes", "inf_thread", "far_below"})
      for (Tier tier : {Tier::fast, Tier::mpfr}) {
        SCOPED_TRACE(family);
        OracleOptions options;
        options.tier = tier;
        for (const RowTruth& row : truth(make_input(*find_family(family), dtype, 257, 2, 3), options))
          if (row.kind == RowKind::finite || row.kind == RowKind::masked) expect_contains(row);
      }
}

TEST(LogTruth, KeepsItsDigitsNextToOne) {
  // s = 1 + e^-40: the double nearest to s is 1.
  const float x[] = {0, -40};
  const RowTruth row = row_truth(Dtype::f32, x, 2, Dtype::f32);
  const Enclosure log_sum = log_sum_truth(row);
  EXPECT_NEAR(log_sum.lo / std::log1p(std::exp(-40.0)), 1, 1e-12);
  EXPECT_LE(log_sum.hi / log_sum.lo, 1 + 1e-13);
}

}  // namespace
}  // namespace assay
