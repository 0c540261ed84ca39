// SPDX-License-Identifier: Apache-2.0
// The sets of min_p and top_p: what the enclosures decide, what they leave open and count, and that either
// answer passes there and nowhere else.
#include "accuracy/judge/kept_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Claim sampler() {
  Claim c;
  c.height = [](std::int64_t n) { return n; };
  c.ties = Ties::smaller_index;
  return c;
}

/// One row, judged as outputs of `op` with a threshold.
struct Sample {
  Claim claim = sampler();
  std::vector<float> x;
  Op op;
  double threshold;
  Tier tier = Tier::fast;
  double slack = 0;  // of every logit, if the kernel computes them itself
  Dtype out = Dtype::f32;

  RowTruth truth() const {
    OracleOptions options;
    options.tier = tier;
    RowTruth t = row_truth(Dtype::f32, x.data(), static_cast<std::int64_t>(x.size()), out, options);
    if (slack > 0) t.slack.assign(x.size(), slack);
    return t;
  }
  Terms terms() const { return terms_of(claim, Backend::host, out, static_cast<std::int64_t>(x.size())); }
  std::vector<Member> sets() const {
    const RowTruth t = truth();
    const PreparedRow p = prepare_row(claim, terms(), t, op, of_threshold(threshold));
    const Terms of = terms();
    const SetQuestion q{op, p.threshold, claim, of, t, p.shift(), *p.bounds};
    return members(q, by_rank(q, std::vector<bool>(x.size(), false)));
  }
  /// The softmax of these elements, correctly rounded; 0 elsewhere.
  std::vector<double> softmax_of(const std::vector<bool>& kept) const {
    double sum = 0, m = *std::max_element(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i) sum += kept[i] ? std::exp(x[i] - m) : 0;
    std::vector<double> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(kept[i] ? round_to(Dtype::f32, std::exp(x[i] - m) / sum) : 0);
    return y;
  }
  /// The first check that fails, or nothing. `open`: elements that may go either way.
  std::string judge(const std::vector<double>& y, std::int64_t* open = nullptr) const {
    const RowTruth t = truth();
    const PreparedRow p = prepare_row(claim, terms(), t, op, of_threshold(threshold));
    std::vector<std::uint64_t> bits;
    for (const double g : y) bits.push_back(encode(out, g));
    RowOutput got;
    got.values = y;
    got.bits = bits;
    Tally tally;
    ErrorStatistics s;
    judge_row(claim, terms(), out, out, {&t, 0}, p, op, got, tally, s);
    if (open) *open = s.open;
    for (const CheckResult& c : tally.results())
      if (c.failed > 0) return name(c.check);
    EXPECT_GT(tally.at(Check::kept).judged + tally.at(Check::special).judged, 0);
    return "";
  }
};

std::string shown(const std::vector<Member>& all) {
  std::string s;
  for (const Member m : all) s += m == Member::kept ? 'k' : m == Member::open ? 'o' : '-';
  return s;
}

TEST(KeptSet, MinPKeepsWhatReachesItsPartOfTheLargest) {
  // ln 0.25 = -1.386...
  const Sample s{.x = {0, -1.3f, -1.4f, -8, 0}, .op = Op::min_p, .threshold = 0.25};
  EXPECT_EQ(shown(s.sets()), "kk--k");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, false, false, true})), "");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, true, false, true})), "kept");
  EXPECT_EQ(s.judge(s.softmax_of({true, false, false, false, true})), "kept");
  std::vector<double> of_the_row = s.softmax_of({true, true, true, true, true});
  of_the_row[2] = of_the_row[3] = 0;
  EXPECT_NE(s.judge(of_the_row), "");
  // The maxima reach every threshold up to 1.
  EXPECT_EQ(shown(Sample{.x = {2, 2, 1.9999f}, .op = Op::min_p, .threshold = 1}.sets()), "kk-");
}

/// fl(ln 0.25) is closer to ln 0.25 than an exp is exact: such an element is open, and counted.
TEST(KeptSet, WhatTheErrorsReachMayGoEitherWay) {
  const Sample s{.x = {0, -1.3862944f, -3}, .op = Op::min_p, .threshold = 0.25};
  EXPECT_EQ(shown(s.sets()), "ko-");
  std::int64_t open = 0;
  EXPECT_EQ(s.judge(s.softmax_of({true, true, false}), &open), "");
  EXPECT_EQ(open, 1);
  EXPECT_EQ(s.judge(s.softmax_of({true, false, false}), &open), "");
  EXPECT_EQ(open, 1);
  // Neither set's values are right for the other.
  std::vector<double> mixed = s.softmax_of({true, true, false});
  mixed[1] = 0;
  EXPECT_NE(s.judge(mixed), "");
}

TEST(KeptSet, TopPEndsWithTheElementThatReachesTheThreshold) {
  // e^0 : e^-1 : e^-2 : e^-3 = 0.644, 0.237, 0.087, 0.032.
  const std::vector<float> x = {-2, 0, -3, -1};
  EXPECT_EQ(shown(Sample{.x = x, .op = Op::top_p, .threshold = 0.6}.sets()), "-k--");
  EXPECT_EQ(shown(Sample{.x = x, .op = Op::top_p, .threshold = 0.7}.sets()), "-k-k");
  EXPECT_EQ(shown(Sample{.x = x, .op = Op::top_p, .threshold = 0.9}.sets()), "kk-k");
  const Sample s{.x = x, .op = Op::top_p, .threshold = 0.7};
  EXPECT_EQ(s.judge(s.softmax_of({false, true, false, true})), "");
  EXPECT_EQ(s.judge(s.softmax_of({false, true, false, false})), "kept");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, false, true})), "kept");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, false, false})), "kept");
}

TEST(KeptSet, TiesOfTopPAreTakenByIndexIfTheClaimSaysSo) {
  Sample s{.x = std::vector<float>(10, 0.5f), .op = Op::top_p, .threshold = 0.35};
  std::vector<bool> first(10), last(10), some(10);
  for (std::size_t i = 0; i < 4; ++i) first[i] = last[9 - i] = some[2 * i + 1] = true;
  EXPECT_EQ(shown(s.sets()), "kkkk------");
  EXPECT_EQ(s.judge(s.softmax_of(first)), "");
  EXPECT_EQ(s.judge(s.softmax_of(some)), "kept");
  s.claim.ties = Ties::larger_index;
  EXPECT_EQ(s.judge(s.softmax_of(last)), "");
  EXPECT_EQ(s.judge(s.softmax_of(first)), "kept");
  s.claim.ties = Ties::unspecified;
  EXPECT_EQ(s.judge(s.softmax_of(some)), "");
  some[0] = true;
  EXPECT_EQ(s.judge(s.softmax_of(some)), "kept");
}

/// The threshold is the first element's probability to six digits: with arithmetic in f16 it may reach it or
/// not.
TEST(KeptSet, TheEndOfTopPMayBeOpen) {
  Sample s{.x = {1, 1, -4}, .op = Op::top_p, .threshold = 0};
  s.threshold = std::round(s.truth().lo[0] * 1e6) / 1e6;
  s.claim.exp = Exp::half;
  s.claim.internals = Internals::f16;
  EXPECT_EQ(shown(s.sets()), "ko-");
}

/// 2e-6 is subnormal in f16, and so is an exp near it.
TEST(KeptSet, SubnormalExpsLeaveMoreOpen) {
  Sample s{.x = {0, -13.05f, -9, -16}, .op = Op::min_p, .threshold = 2e-06};
  EXPECT_EQ(shown(s.sets()), "kkk-");
  s.claim.exp = Exp::half;
  s.claim.internals = Internals::f16;
  EXPECT_EQ(shown(s.sets()), "kok-");
}

Sample flushing(std::vector<float> x, Op op, double threshold) {
  Sample s{.x = std::move(x), .op = op, .threshold = threshold, .out = Dtype::f16};
  s.claim.exp = Exp::half;
  s.claim.internals = Internals::f16;
  s.claim.ftz = true;
  s.claim.height = [](std::int64_t) { return std::int64_t{12}; };
  return s;
}
/// 20,000 equal elements, and one that is a little larger. Whether the others reach it is open. All together,
/// each is 5e-5, which f16 arithmetic that flushes subnormal results makes 0.
TEST(KeptSet, WhatIsKeptMayVanishBesideAllThatMayBeKept) {
  std::vector<float> x(20000, -1e-4f);
  x[0] = 0;
  const Sample s = flushing(x, Op::min_p, 1);
  EXPECT_EQ(s.judge(std::vector<double>(x.size(), 0.0)), "");
  std::vector<double> alone(x.size(), 0.0);
  alone[0] = 1;
  EXPECT_EQ(s.judge(alone), "");
  alone[0] = 1.5;
  EXPECT_NE(s.judge(alone), "");
}

/// Four elements of 0.1 and 12,000 of 5e-5 each. A kernel that adds up quotients flushes these to 0, never
/// reaches 0.5, and keeps the whole row.
TEST(KeptSet, QuotientsMayVanishFromTheSumOfTopP) {
  std::vector<float> x(12004, std::log(5e-4f));
  std::fill(x.begin(), x.begin() + 4, 0.0f);
  const Sample s = flushing(x, Op::top_p, 0.5);
  std::vector<double> whole(x.size(), 0.0);
  std::fill(whole.begin(), whole.begin() + 4, round_to(Dtype::f16, 0.1));
  EXPECT_EQ(s.judge(whole), "");
  whole[3] = 0;
  EXPECT_EQ(s.judge(whole), "kept");
}

/// Small elements behind one that reaches the threshold, or does not: all of them are open, and a kernel
/// keeps the first ones.
TEST(KeptSet, ASetOfTopPHasNoGaps) {
  Sample s{.x = {1, -8, -8.5f, -9}, .op = Op::top_p, .threshold = 0};
  s.threshold = std::round(s.truth().lo[0] * 1e6) / 1e6;
  s.claim.exp = Exp::half;
  s.claim.internals = Internals::f16;
  ASSERT_EQ(shown(s.sets()), "kooo");
  EXPECT_EQ(s.judge(s.softmax_of({true, false, false, false})), "");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, true, false})), "");
  EXPECT_EQ(s.judge(s.softmax_of({true, false, true, false})), "kept");
  EXPECT_EQ(s.judge(s.softmax_of({true, true, false, true})), "kept");
}

/// A row whose logits the kernel computes: two of them are so close that either may rank first.
TEST(KeptSet, LogitsOfOperandsMayChangePlaces) {
  Sample s{.x = {1, 0.9999f, -5}, .op = Op::top_p, .threshold = 0.4};
  EXPECT_EQ(shown(s.sets()), "k--");
  EXPECT_EQ(s.judge(s.softmax_of({false, true, false})), "kept");
  s.slack = 1e-3;
  EXPECT_EQ(shown(s.sets()), "oo-");
  EXPECT_EQ(s.judge(s.softmax_of({true, false, false})), "");
  EXPECT_EQ(s.judge(s.softmax_of({false, true, false})), "");
  EXPECT_EQ(s.judge({0, 0, 0}), "kept");
  EXPECT_EQ(s.judge({0, 0, 1}), "kept");
  s.op = Op::min_p, s.threshold = 1;
  EXPECT_EQ(shown(s.sets()), "oo-");
  EXPECT_EQ(s.judge(s.softmax_of({false, true, false})), "");
  EXPECT_EQ(s.judge({0, 0, 0}), "kept");
}

/// Equal maxima of which the first is not in the set.
TEST(KeptSet, TheFirstMaximumMayBeOutside) {
  Sample s{.x = {3, 3}, .op = Op::top_p, .threshold = 0.4};
  s.claim.ties = Ties::larger_index;
  EXPECT_EQ(shown(s.sets()), "-k");
  EXPECT_EQ(s.judge({0, 1}), "");
  EXPECT_EQ(s.judge({1, 0}), "kept");
}

TEST(KeptSet, SpecialRowsFollowThePolicy) {
  const float nan = std::nanf("");
  const Sample s{.x = {1, nan, 0}, .op = Op::top_p, .threshold = 0.5};
  const double n = std::nan("");
  EXPECT_EQ(s.judge({n, n, n}), "");
  EXPECT_EQ(s.judge({1, n, 0}), "special");
}

TEST(KeptSet, WhatIsLeftIsEnclosed) {
  for (const Tier tier : {Tier::fast, Tier::mpfr}) {
    const Sample s{.x = {0.25f, -1.5f, 2, 0.125f, -3}, .op = Op::min_p, .threshold = 0.1, .tier = tier};
    const RowTruth t = kept_truth(s.truth(), {true, false, true, true, false});
    const std::vector<float> those = {0.25f, 2, 0.125f};
    const std::vector<Enclosure> apart = eigen_softmax(Dtype::f32, those.data(), 3);
    const std::size_t at[] = {0, 2, 3};
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE((Enclosure{t.lo[at[i]], t.hi[at[i]]}.overlaps(apart[i]))) << i;
    EXPECT_EQ(t.hi[1], 0);
    EXPECT_EQ(t.finite, 3);
    EXPECT_EQ(t.kind, RowKind::masked);
    EXPECT_EQ(t.order, (std::vector<std::int32_t>{2, 0, 3, 1, 4}));
    EXPECT_LT(t.hi[0] - t.lo[0], 1e-14);
  }
}

TEST(KeptSet, AProblemHasAThresholdAboveZero) {
  Problem p;
  p.op = Op::top_p;
  p.threshold = 0.9f;
  EXPECT_EQ(invalid_reason(p), "");
  for (const float wrong : {0.0f, -0.5f, 1.5f, std::nanf("")}) {
    p.threshold = wrong;
    EXPECT_NE(invalid_reason(p), "") << wrong;
  }
  EXPECT_EQ(words_of(Op::top_p, of_threshold(0.05)), "threshold 0.05");
  EXPECT_EQ(words_of(Op::top_p, of_threshold(0.000001)), "threshold 0.000001");
  EXPECT_EQ(words_of(Op::top_p, of_threshold(1e-20)), "threshold 1e-20");
  EXPECT_EQ(words_of(Op::min_p, of_threshold(1)), "threshold 1");
  EXPECT_EQ(words_of(Op::topk, 5), "k = 5");
  EXPECT_EQ(words_of(Op::softmax, 5), "");
  Variant v;
  v.op = Op::min_p;
  apply_declaration("epsilon=1e-6", v);
  EXPECT_THROW(refuse_idle_words(v), InputError);
}

}  // namespace
}  // namespace assay
