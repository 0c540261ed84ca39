// SPDX-License-Identifier: Apache-2.0
// Numerators kept from an older maximum, which is assumed if nothing is declared: they may be off by a few
// roundings, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

using namespace strangers;

/// Top-k of probabilities kept by tiles of 64; of equal ones the smaller index.
Variant kept_selector(const char* words) {
  Variant v = stranger(kept, words);
  v.op = Op::softmax_topk;
  v.max_k = 64;
  v.run = [](const Problem& p, const Buffers& b, const Stream&) {
    std::vector<float> probs(static_cast<std::size_t>(p.V));
    std::vector<std::int32_t> at(probs.size());
    for (std::int64_t r = 0; r < p.rows; ++r) {
      if (p.V > 0) kept(static_cast<const float*>(b.logits) + r * p.in_pitch, probs.data(), p.V);
      std::iota(at.begin(), at.end(), 0);
      std::stable_sort(at.begin(), at.end(), [&](std::int32_t i, std::int32_t j) {
        return probs[static_cast<std::size_t>(i)] > probs[static_cast<std::size_t>(j)];
      });
      for (int s = 0; s < p.k; ++s) {
        const bool empty = s >= p.V;
        const std::int32_t i = empty ? -1 : at[static_cast<std::size_t>(s)];
        static_cast<std::int32_t*>(b.indices)[r * p.out_pitch + s] = i;
        static_cast<float*>(b.probs)[r * p.out_pitch + s] = empty ? 0 : probs[static_cast<std::size_t>(i)];
      }
    }
  };
  return v;
}

/// Rows of three tiles. The largest logit is in the last tile; the first two tiles have maxima of their own.
/// Two logits far below, equal or next to each other, are in the first two tiles, one in each. Everything
/// else is -inf. The last two of five slots show which of the far ones has the larger probability.
Tensor two_far_logits(std::int64_t rows, bool equal, std::mt19937& random) {
  Tensor t(Dtype::f32, rows, 192);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto number = [&](double lo, double hi) {
    return static_cast<double>(static_cast<float>(lo + (hi - lo) * unit(random)));
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < t.V; ++j) t.set(r, j, -INFINITY);
    // Differences are between 32 and 64, where they are spaced by 64 u; kept ones are rounded differently.
    const double m = number(14, 15.9), x = number(-31, -20);
    t.set(r, 0, number(13, m));
    t.set(r, 64, number(13, m));
    t.set(r, 128, m);
    auto next = static_cast<float>(x);
    for (std::uint32_t steps = equal ? 0 : random() % 3 + 1; steps > 0; --steps)
      next = std::nextafterf(next, 0.0f);
    t.set(r, 1 + random() % 63, equal ? x : static_cast<double>(next));
    t.set(r, 65 + random() % 63, x);
  }
  return t;
}

// Two tiles round the same logit differently, so equal logits get different probabilities and neighbours
// swap. A kernel that selects by probability then takes the one that was rounded up, whatever was declared
// about ties.
TEST(Kept, SelectionByProbabilityMayFollowTheRoundingOfTheTiles) {
  const Variant v =
      kept_selector("select=probs; normalise=kept; division=ieee; ties=smaller_index; height=V");
  std::mt19937 random(7);
  for (const bool equal : {true, false}) {
    const Case c(equal ? "equal far logits" : "neighbouring far logits", two_far_logits(3000, equal, random));
    int swapped = 0;
    for (std::int64_t r = 0; r < c.rows(); ++r) {
      std::vector<float> x(192), p(192);
      for (std::int64_t j = 0; j < c.V(); ++j)
        x[static_cast<std::size_t>(j)] = static_cast<float>(c.logits().at(r, j));
      kept(x.data(), p.data(), c.V());
      const auto first =
          static_cast<std::size_t>(std::max_element(p.begin() + 1, p.begin() + 64) - p.begin());
      const auto second =
          static_cast<std::size_t>(std::max_element(p.begin() + 65, p.begin() + 128) - p.begin());
      // The first slot has the larger logit, or an equal one with a smaller index.
      swapped += p[first] < p[second];
    }
    EXPECT_GT(swapped, equal ? 500 : 20) << "the rows are to show something";
    const Record r = check_case(v, c, Op::softmax_topk, 5);
    EXPECT_EQ(r.status, Status::pass) << c.family() << ": " << r.reason << [&] {
      for (const CheckResult& one : r.checks)
        if (one.failed) return "; " + std::to_string(one.failed) + ", " + one.detail;
      return std::string();
    }();
  }
}

/// The sum is right; the numerators are off by 1e-3 for x - m between -60 and -40.
void bent_numerators(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) {
    const float t = x[i] - m;
    p[i] = std::exp(t) * (t > -60 && t < -40 ? 1.001f : 1.0f) / d;
  }
}

// Undeclared numerators are assumed to be kept; the probe of their exp still judges them.
TEST(Kept, AWrongExpInTheNumeratorsIsRefutedByItsProbe) {
  const Variant undeclared = stranger(bent_numerators);
  ASSERT_EQ(undeclared.claim.normalise, Normalise::kept);
  for (const Variant& v : {undeclared, stranger(bent_numerators, "normalise=kept; height=V")}) {
    const Behaviour b = behaviour_of(v);
    EXPECT_GT(b.claim.failed, 0);
    EXPECT_TRUE(b.claim.detail.starts_with("numerator_exp: ")) << b.claim.detail;
  }
  const Behaviour right = behaviour_of(stranger(kept));
  EXPECT_EQ(right.claim.failed, 0) << right.claim.detail;
}

}  // namespace

// The row that a top-k selects: its exact probabilities, the bound of its own sum, and which rows leave it
// open.

namespace {

constexpr float kInf32 = std::numeric_limits<float>::infinity();
constexpr float kNan32 = std::numeric_limits<float>::quiet_NaN();

RowTruth row_of(const std::vector<float>& x, Tier tier = Tier::fast) {
  OracleOptions options;
  options.tier = tier;
  return row_truth(Dtype::f32, x.data(), static_cast<std::int64_t>(x.size()), Dtype::f32, options);
}
Claim a_router() {
  Claim c;
  c.height = [](std::int64_t n) { return n; };
  c.select = Select::logits;
  c.ties = Ties::smaller_index;
  return c;
}

TEST(SelectedRow, IsTheSoftmaxOfTheLargest) {
  const std::vector<float> x = {0.5f, 3, -2, 3, 1.25f, -7, 2.5f};
  for (const Tier tier : {Tier::fast, Tier::mpfr}) {
    const RowTruth t = selected_truth(a_router(), row_of(x, tier), 4);
    EXPECT_EQ(t.x, (std::vector<double>{3, 3, 2.5, 1.25}));
    EXPECT_EQ(t.kind, RowKind::finite);
    EXPECT_TRUE(t.rounded.empty());
    const std::vector<float> those = {3, 3, 2.5f, 1.25f};
    const std::vector<Enclosure> apart = eigen_softmax(Dtype::f32, those.data(), 4);
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE((Enclosure{t.lo[i], t.hi[i]}.overlaps(apart[i]))) << i;
      sum += t.lo[i];
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_EQ(t.bits > 53, tier == Tier::mpfr);
  }
  EXPECT_EQ(selected_truth(a_router(), row_of(x), 20).x.size(), x.size());
  EXPECT_EQ(selected_truth(a_router(), row_of({}), 3).kind, RowKind::empty);
}

TEST(SelectedRow, WhatIsSpecialCountsOnlyIfItIsSelected) {
  const RowTruth t = row_of({1, kNan32, 2, -kInf32, 3});
  Claim c = a_router();
  EXPECT_EQ(selected_truth(c, t, 3).kind, RowKind::finite);
  EXPECT_EQ(selected_truth(c, t, 4).kind, RowKind::masked);
  EXPECT_EQ(selected_truth(c, t, 5).kind, RowKind::nan);
  c.policy.nan_order = NanOrder::first;
  EXPECT_EQ(selected_truth(c, t, 1).kind, RowKind::nan);
  c.policy.nan_order = NanOrder::ignored;
  EXPECT_EQ(selected_truth(c, t, 5).x.size(), 4u);
  EXPECT_EQ(selected_truth(a_router(), row_of({0, kInf32, 1}), 1).kind, RowKind::pos_inf);
  EXPECT_EQ(selected_truth(a_router(), row_of({-kInf32, -kInf32}), 1).kind, RowKind::all_neg_inf);
}

PreparedRow selected_by(const Claim& c, const RowTruth& t, int k, const SumLimit& limit = {}) {
  const Terms terms =
      limited(terms_of(c, Backend::host, Dtype::f32, static_cast<std::int64_t>(t.x.size())), limit);
  return prepare_row(c, terms, t, Op::topk_softmax, k);
}

/// The additions that are counted are those of the k elements: the bound is far below that of the row's sum.
TEST(SelectedRow, ItsSumIsThatOfTheSelected) {
  std::vector<float> x(1000, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 1e-4f * static_cast<float>(i);
  const RowTruth t = row_of(x);
  const PreparedRow four = selected_by(a_router(), t, 4), all = selected_by(a_router(), t, 1000);
  EXPECT_EQ(four.own_terms->h, 4);
  EXPECT_EQ(all.own_terms->h, 1000);
  EXPECT_LT(four.bounds->b * 100, all.bounds->b);
  EXPECT_EQ(four.bounds->A.size(), 4u);
  EXPECT_EQ(selected_by(a_router(), t, 500, {.height = 20}).own_terms->h, 20);
  EXPECT_EQ(selected_by(a_router(), t, 4, {.height = 20}).own_terms->h, 4);
}

TEST(SelectedRow, IsOpenIfANanMayBeAnywhere) {
  Claim c = a_router();
  c.policy.nan_order = NanOrder::any;
  EXPECT_NE(selected_by(c, row_of({1, kNan32, 2}), 2).outside, "");
  EXPECT_EQ(selected_by(c, row_of({1, 3, 2}), 2).outside, "");
  EXPECT_EQ(selected_by(a_router(), row_of({1, kNan32, 2}), 2).outside, "");
}

TEST(SelectedRow, SelectionByProbabilitiesIsRefused) {
  Variant v;
  v.op = Op::topk_softmax;
  v.max_k = 8;
  apply_declaration("select=probs", v);
  EXPECT_THROW(refuse_idle_words(v), InputError);
  v.op = Op::softmax_topk;
  EXPECT_NO_THROW(refuse_idle_words(v));
}

/// A record says in which column of the row the worst element is, not in which slot.
TEST(SelectedRow, TheWorstElementIsNamedByItsColumn) {
  const Variant* v = find_variant("onepass_topk_softmax/f32@host");
  ASSERT_NE(v, nullptr);
  Tensor x(Dtype::f32, 1, 300);
  for (std::int64_t j = 0; j < 300; ++j) x.set(0, j, j == 271 ? 2 : j == 34 ? 1.3 : -5);
  const Case c("two columns", x);
  const Record r = check_case(*v, c, Op::topk_softmax, 2);
  ASSERT_EQ(r.status, Status::pass) << r.reason;
  ASSERT_TRUE(r.worst);
  EXPECT_TRUE(r.worst->column == 271 || r.worst->column == 34) << r.worst->column;
  EXPECT_NEAR(0.5 * (r.worst->exact_lo + r.worst->exact_hi),
              (r.worst->column == 34 ? 1 : std::exp(0.7)) / (1 + std::exp(0.7)), 1e-7);
}

}  // namespace
}  // namespace assay
