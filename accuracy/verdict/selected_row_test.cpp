// SPDX-License-Identifier: Apache-2.0
// The row that a top-k selects: its exact probabilities, the bound of its own sum, and which rows leave it
// open.
#include "accuracy/judge/selected_row.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"

namespace assay {
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
  const std::vector<float> x(1000, 0.5f);
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
