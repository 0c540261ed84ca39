// SPDX-License-Identifier: Apache-2.0
// Log-softmax and lse in the checker: right code passes on every family, and each kind of mistake is refused
// by the check made for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/checker.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

/// Changes one row of outputs after right code wrote it.
std::function<void(const float* x, float* y, std::int64_t V)> log_corruption;

void run_right(const Problem& p, const Buffers& b, const Stream&) {
  for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r) {
    const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
    float* y = static_cast<float*>(b.probs) + r * p.out_pitch;
    float m = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < p.V; ++i) m = std::fmax(m, x[i]);
    for (std::int64_t i = 0; i < p.V; ++i) sum += std::exp(x[i] - m);
    if (p.op == Op::lse) {
      bool nothing = true;
      for (std::int64_t i = 0; i < p.V; ++i) nothing = nothing && x[i] == -INFINITY;
      *y = nothing ? -INFINITY : m + std::log(sum);
    } else {
      for (std::int64_t i = 0; i < p.V; ++i) y[i] = x[i] - m - std::log(sum);
    }
    if (log_corruption) log_corruption(x, y, p.V);
  }
}

Variant right(Op op) {
  Variant v;
  v.variant = "fake";
  v.op = op;
  v.claim.height = [](std::int64_t V) { return V; };
  v.run = run_right;
  return v;
}

Record check(Op op, const char* family, std::int64_t V,
             std::function<void(const float*, float*, std::int64_t)> change = {}) {
  log_corruption = std::move(change);
  Record r = check_case(right(op), Case(*find_family(family), Dtype::f32, V, 2, 1), op, 0);
  log_corruption = {};
  return r;
}

void expect_refused(const Record& r, const char* by) {
  EXPECT_EQ(r.status, Status::fail) << r.reason;
  EXPECT_NE(r.reason.find(by), std::string::npos) << r.reason;
  for (const CheckResult& c : r.checks)
    if (name(c.check) == std::string_view(by)) {
      EXPECT_FALSE(c.detail.empty());
    }
}

TEST(LogJudge, PassesRightCodeOnEveryFamily) {
  for (const Family& f : families())
    for (std::int64_t V : {0, 1, 2, 33, 1000})
      if (applies(f, Dtype::f32, V))
        for (Op op : {Op::log_softmax, Op::lse}) {
          const Record r = check(op, f.name, V);
          EXPECT_EQ(r.status, Status::pass) << f.name << " " << name(op) << " V = " << V << ": " << r.reason;
        }
}

TEST(LogJudge, RefusesWrongLogSoftmax) {
  const auto wrong = [](const char* family, const char* by, auto change) {
    expect_refused(check(Op::log_softmax, family, 100, change), by);
  };
  wrong("normal_1", "element", [](const float*, float* y, std::int64_t) { y[50] = NAN; });
  wrong("normal_1", "element", [](const float*, float* y, std::int64_t) { y[50] = -INFINITY; });
  wrong("normal_1", "element", [](const float*, float* y, std::int64_t) { y[50] *= 1 + 1e-4f; });
  wrong("normal_1", "element", [](const float*, float* y, std::int64_t V) { std::fill(y, y + V, 0.0f); });
  // Four ulp, where one rounding of each of two outputs is allowed: far inside the element bound.
  wrong("normal_1", "coherence", [](const float*, float* y, std::int64_t) {
    for (int i = 0; i < 4; ++i) y[50] = std::nextafterf(y[50], -INFINITY);
  });
  wrong("constant", "monotone",
        [](const float*, float* y, std::int64_t) { y[50] = std::nextafterf(y[50], 0.0f); });
  wrong("spike", "range", [](const float* x, float* y, std::int64_t V) {
    for (std::int64_t i = 0; i < V; ++i) y[i] = x[i] > 0 && y[i] > -1e-7f ? 1e-8f : y[i];
    y[0] = y[0] > -1e-7f ? y[0] : 1e-8f;
  });
  wrong("inf_vector", "special", [](const float* x, float* y, std::int64_t V) {
    for (std::int64_t i = 0; i < V; ++i)
      if (x[i] == -INFINITY) y[i] = -3e38f;
  });
  wrong("all_neg_inf", "special", [](const float*, float* y, std::int64_t V) { std::fill(y, y + V, 0.0f); });
  wrong("nan", "special", [](const float*, float* y, std::int64_t V) {
    for (std::int64_t i = 0; i < V; ++i) y[i] = std::isnan(y[i]) ? -1.0f : y[i];
  });
}

TEST(LogJudge, RefusesWrongLse) {
  expect_refused(check(Op::lse, "normal_1", 100, [](const float*, float* y, std::int64_t) { *y += 3e-5f; }),
                 "element");
  expect_refused(check(Op::lse, "normal_1", 100, [](const float*, float* y, std::int64_t) { *y = NAN; }),
                 "element");
  expect_refused(check(Op::lse, "all_neg_inf", 100, [](const float*, float* y, std::int64_t) { *y = NAN; }),
                 "special");
  expect_refused(check(Op::lse, "nan", 100, [](const float*, float* y, std::int64_t) { *y = 1; }), "special");
}

TEST(LogJudge, TheSharpFormIsRefusedWhereItIsNotComputed) {
  // x - lse on a row near 1000: off by u |lse|, ten times what (x - m) - log d may be.
  const auto absorb = [](const float* x, float* y, std::int64_t V) {
    const float lse = x[0] - y[0];
    for (std::int64_t i = 0; i < V; ++i) y[i] = x[i] - lse;
  };
  expect_refused(check(Op::log_softmax, "shifted_1000", 33, absorb), "element");
  log_corruption = absorb;
  Variant v = right(Op::log_softmax);
  v.claim.log_form = LogForm::absorb;
  const Record r =
      check_case(v, Case(*find_family("shifted_1000"), Dtype::f32, 33, 2, 1), Op::log_softmax, 0);
  log_corruption = {};
  EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_GT(r.max_bound_ratio.value_or(0), 0.1);
}

TEST(LogJudge, SeesOneLogarithmPerRow) {
  // A dropped tail moves every element by more than the bound.
  expect_refused(check(Op::log_softmax, "normal_1", 1000,
                       [](const float*, float* y, std::int64_t V) {
                         for (std::int64_t i = 0; i < V; ++i) y[i] += 1e-3f;
                       }),
                 "element");
}

// The log-probabilities of the k largest elements in the checker: right code passes on every family, and each
// kind of mistake is refused by the check made for it.

/// Changes the k values and columns of one row after right code wrote them.
std::function<void(float* y, int* columns)> slot_corruption;

void run_right_slots(const Problem& p, const Buffers& b, const Stream&) {
  for (std::int64_t r = 0; r < p.rows && p.k > 0; ++r) {
    const float* const x = static_cast<const float*>(b.logits) + r * p.in_pitch;
    float* const y = static_cast<float*>(b.probs) + r * p.out_pitch;
    int* const columns = static_cast<int*>(b.indices) + r * p.out_pitch;
    std::vector<int> order(static_cast<std::size_t>(p.V));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return std::isnan(x[j]) ? !std::isnan(x[i]) : x[i] > x[j]; });
    float m = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < p.V; ++i) m = std::fmax(m, x[i]);
    for (std::int64_t i = 0; i < p.V; ++i) sum += std::exp(x[i] - m);
    for (int slot = 0; slot < p.k; ++slot) {
      const bool empty = slot >= p.V;
      columns[slot] = empty ? -1 : order[static_cast<std::size_t>(slot)];
      y[slot] = empty ? -INFINITY : (x[columns[slot]] - m) - std::log(sum);
    }
    if (slot_corruption) slot_corruption(y, columns);
  }
}

Record check_slots(const char* family, std::int64_t V, int k, std::function<void(float*, int*)> change = {}) {
  Variant v;
  v.variant = "fake";
  v.op = Op::log_softmax_topk;
  v.max_k = 64;
  v.claim.height = [](std::int64_t n) { return n; };
  v.claim.select = Select::logits;
  v.claim.ties = Ties::smaller_index;
  v.run = run_right_slots;
  slot_corruption = std::move(change);
  Record r = check_case(v, Case(*find_family(family), Dtype::f32, V, 2, 1), v.op, k);
  slot_corruption = {};
  return r;
}

TEST(LogTopkJudge, PassesRightCodeOnEveryFamily) {
  for (const Family& f : families())
    for (const std::int64_t V : {1, 2, 33, 1000})
      for (const int k : {1, 5, 64})
        if (applies(f, Dtype::f32, V)) {
          const Record r = check_slots(f.name, V, k);
          EXPECT_EQ(r.status, Status::pass) << f.name << " V = " << V << " k = " << k << ": " << r.reason;
        }
}

TEST(LogTopkJudge, RefusesWrongValues) {
  const auto wrong = [](const char* family, std::int64_t V, const char* by, auto change) {
    const Record r = check_slots(family, V, 5, change);
    EXPECT_EQ(r.status, Status::fail) << r.reason;
    EXPECT_NE(r.reason.find(by), std::string::npos) << r.reason;
  };
  wrong("normal_1", 100, "element", [](float* y, int*) { y[3] = NAN; });
  wrong("normal_1", 100, "element", [](float* y, int*) { y[3] *= 1 + 1e-4f; });
  wrong("normal_1", 100, "element", [](float* y, int*) { y[4] = -INFINITY; });
  // Far inside the element bound.
  wrong("normal_1", 100, "coherence", [](float* y, int*) {
    for (int i = 0; i < 8; ++i) y[3] = std::nextafterf(y[3], -INFINITY);
  });
  wrong("constant", 100, "monotone", [](float* y, int*) { y[3] = std::nextafterf(y[3], 0.0f); });
  wrong("normal_1", 3, "special", [](float* y, int*) { y[4] = 0; });
  wrong("nan", 100, "special", [](float* y, int*) { y[1] = -1; });
  // Values have no meaning beside wrong columns.
  wrong("normal_1", 100, "order", [](float*, int* columns) { std::swap(columns[0], columns[4]); });
  wrong("normal_1", 100, "indices", [](float*, int* columns) { columns[2] = columns[1]; });
}

// Compares ln s and the log-probabilities from a row's enclosures with MPFR at 300 bits, where doubles cancel
// most.

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
