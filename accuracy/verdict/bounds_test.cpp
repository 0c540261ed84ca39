// SPDX-License-Identifier: Apache-2.0
// The bounds, compared with cases worked out by hand and with real fp32 arithmetic.
#include "accuracy/bounds/bounds.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

constexpr double u = 0x1p-24;

RowTruth truth_of(const std::vector<float>& x) {
  return row_truth(Dtype::f32, x.data(), static_cast<std::int64_t>(x.size()), Dtype::f32);
}

Claim safe_claim() {
  Claim c;
  c.height = [](std::int64_t V) { return V; };
  return c;
}

TEST(Bounds, TermsFollowTheClaim) {
  Claim c = safe_claim();
  Terms t = terms_of(c, Backend::cuda, Dtype::f16, 1000);
  EXPECT_EQ(t.u, u);
  EXPECT_EQ(t.u_out, 0x1p-11);
  EXPECT_DOUBLE_EQ(t.exp_constant, lam(5 * u));
  EXPECT_EQ(t.eta, 5 * 0x1p-150);
  EXPECT_EQ(t.w_out, 0x1p-25);
  EXPECT_EQ(t.h, 1000);
  EXPECT_EQ(t.eps(0), 0);
  c.exp = Exp::fast;
  c.division = Division::approximate;
  t = terms_of(c, Backend::cuda, Dtype::f32, 1000);
  EXPECT_EQ(t.u_out, 0) << "the result is already in the output's format";
  EXPECT_NEAR(t.eps(-10), lam(5 * u) + 23.46 * u, 1e-3 * u);
  for (double x = 0; x <= 110; x += 0.5)
    EXPECT_GE(t.eps(-x) * (1 + 0x1p-50), x == 0 ? 0 : lam((5 + 2.346 * x) * u)) << "|t| = " << x;
  EXPECT_EQ(t.D, 5 * u);
  c.internals = Internals::bf16;
  c.exp = Exp::half;
  t = terms_of(c, Backend::host, Dtype::bf16, 1000);
  EXPECT_EQ(t.u, 0x1p-8);
  EXPECT_EQ(t.eta, 0x1p-134);
}

TEST(Bounds, TwoEqualLogits) {
  const RowTruth row = truth_of({1.0f, 1.0f});
  const Terms t = terms_of(safe_claim(), Backend::host, Dtype::f32, 2);
  const RowBounds b = row_bounds(t, row, shift_of(row, Dtype::f32, true));
  // Both terms are exp(0) = 1, and 1 + 1 is exact, so only the division is left.
  EXPECT_EQ(b.b, 0x1p-40);
  EXPECT_NEAR(b.A[0], lam(u), 2e-12);
  EXPECT_EQ(
      row_bounds(t, truth_of({1.0f, -INFINITY, 1.0f}), shift_of(truth_of({1.0f, -INFINITY, 1.0f}), t)).b,
      0x1p-40);
  // Two other terms need one addition, whatever height was claimed.
  const RowTruth other = truth_of({0x1p-20f, 0.0f});
  EXPECT_NEAR(row_bounds(t, other, shift_of(other, t)).b, lam(u) + 0.5 * t.exp_constant, 1e-12);
}

// A sum of ones is exact only while their number is a number of the format.
TEST(Bounds, EqualLogitsHaveAnExactSumUpToTheFormat) {
  const RowTruth fits = truth_of(std::vector<float>(256, 3.0f)),
                 more = truth_of(std::vector<float>(257, 3.0f));
  Claim c = safe_claim();
  c.internals = Internals::bf16;
  const auto b = [&](const RowTruth& row) {
    const Terms t = terms_of(c, Backend::host, Dtype::bf16, std::ssize(row.x));
    return row_bounds(t, row, shift_of(row, t)).b;
  };
  EXPECT_EQ(b(fits), 0x1p-40);
  EXPECT_GT(b(more), 0x1p-9);
  c.epsilon = 1e-3;
  EXPECT_GT(b(fits), 0x1p-9) << "epsilon is one more term, and no 1";
  c = safe_claim();
  c.shift = Shift::none;
  c.internals = Internals::f32;
  const Terms naive = terms_of(c, Backend::host, Dtype::f32, 256);
  EXPECT_GT(row_bounds(naive, fits, shift_of(fits, naive)).b, u) << "e^3 is no 1";
}

TEST(Bounds, RoundedShiftIsKnownExactly) {
  const RowTruth row = truth_of({1.0f, 0x1.000002p+24f, -3.0e38f});
  const RoundedShift s = shift_of(row, Dtype::f32, true);
  EXPECT_EQ(s.f[1], 0);
  EXPECT_EQ(s.delta[0], s.f[0] - (1.0 - 0x1.000002p+24));
  EXPECT_NE(s.delta[0], 0);
  const RowTruth far = truth_of({3e38f, -3e38f});
  const RoundedShift overflow = shift_of(far, Dtype::f32, true);
  EXPECT_TRUE(std::isinf(overflow.f[1]));
  const RowBounds b = row_bounds(terms_of(safe_claim(), Backend::host, Dtype::f32, 2), far, overflow);
  EXPECT_TRUE(std::isfinite(b.b));
  EXPECT_TRUE(std::isfinite(b.A[1]));
}

TEST(Bounds, OnlineAddsRescalesAndSafeDoesNot) {
  std::vector<float> x(1000);
  for (int i = 0; i < 1000; ++i) x[static_cast<std::size_t>(i)] = 1e-4f * static_cast<float>(i);
  const RowTruth row = truth_of(x);
  const RoundedShift s = shift_of(row, Dtype::f32, true);
  Claim online = safe_claim();
  online.algorithm = Algorithm::online;
  const double safe_b = row_bounds(terms_of(safe_claim(), Backend::host, Dtype::f32, 1000), row, s).b;
  const double online_b = row_bounds(terms_of(online, Backend::host, Dtype::f32, 1000), row, s).b;
  EXPECT_GT(online_b, 1.5 * safe_b);
  EXPECT_LT(online_b, 4 * safe_b);
}

TEST(Bounds, DomainsAreWhatTheClassesSay) {
  Claim naive = safe_claim();
  naive.algorithm = Algorithm::naive;
  naive.shift = Shift::none;
  EXPECT_TRUE(outside_domain(naive, truth_of({88.0f, 1.0f}), 0).empty());
  EXPECT_FALSE(outside_domain(naive, truth_of({88.7f, 88.7f}), 0).empty()) << "lse counts, not the maximum";
  EXPECT_FALSE(outside_domain(naive, truth_of({-90.0f, -91.0f}), 0).empty());
  EXPECT_TRUE(outside_domain(safe_claim(), truth_of({3e38f, -3e38f}), 0).empty());
  Claim half = safe_claim();
  half.internals = Internals::f16;
  EXPECT_TRUE(outside_domain(half, truth_of(std::vector<float>(60000, 1.0f)), 0).empty());
  EXPECT_FALSE(outside_domain(half, truth_of(std::vector<float>(65504, 1.0f)), 0).empty());
  EXPECT_FALSE(outside_domain(half, truth_of(std::vector<float>(60000, 1.0f)), 0.1).empty())
      << "the computed sum must fit too";
}

TEST(Bounds, ReciprocalsRoundTwiceAndShareOne) {
  Claim c = safe_claim();
  c.division = Division::reciprocal;
  const Terms t = terms_of(c, Backend::cuda, Dtype::f32, 10);
  EXPECT_EQ(t.D, 2 * u + u * u);
  EXPECT_EQ(t.D_own, u);
  EXPECT_EQ(t.w_out, 0x1p-150);
  Claim naive = c;
  naive.algorithm = Algorithm::naive;
  naive.shift = Shift::none;
  EXPECT_FALSE(outside_domain(naive, truth_of({87.4f, -100}), 0).empty()) << "1 / s would be subnormal";
  naive.division = Division::ieee;
  EXPECT_TRUE(outside_domain(naive, truth_of({87.4f, -100}), 0).empty());
}

TEST(Bounds, Exp2CarriesTheRoundingOfTheScaledMaximum) {
  Claim c = safe_claim();
  c.exp = Exp::exp2_fma;
  const Terms t = terms_of(c, Backend::cuda, Dtype::f32, 2);
  const RowTruth row = truth_of({1000, 1000});
  const RoundedShift s = shift_of(row, t);
  // gamma = fl(1000 L) - 1000 L with L = 0x1.715476p+0, in nats.
  const double exact = 1000 * 0x1.715476p+0;
  const double anchor = (exact - static_cast<double>(static_cast<float>(exact))) * std::log(2.0);
  ASSERT_NE(anchor, 0);
  EXPECT_NEAR(s.f[0], anchor, 1e-18);
  EXPECT_EQ(s.delta[1], 0);
  const RowBounds b = row_bounds(t, row, s);
  // The exp has an error at the maximum too; then the single rounding of the sum, and the division.
  EXPECT_NEAR(b.b, lam(5 * u) + lam(u), 1e-12);
  EXPECT_NEAR(b.A[0], 2 * lam(5 * u) + 2 * lam(u), 2e-12);
  EXPECT_EQ(b.range_top, 1);
  c.algorithm = Algorithm::online;
  const RowBounds online = row_bounds(terms_of(c, Backend::cuda, Dtype::f32, 2), row, s);
  EXPECT_NEAR(online.b, lam(5 * u) + 2 * lam(u), 1e-12) << "one exp and product for the whole row";
  EXPECT_GT(online.range_top, 1);
  EXPECT_FALSE(outside_domain(c, truth_of({1.1e8f, 0}), 0).empty());
  EXPECT_TRUE(outside_domain(c, truth_of({-1e8f, -2e8f}), 0).empty());
}

TEST(Bounds, LateRescalingCountsThePathUpAndDown) {
  Claim c = safe_claim();
  c.algorithm = Algorithm::online;
  c.rescale_threshold = 2;
  c.height = [](std::int64_t) { return std::int64_t{10}; };
  const Terms t = terms_of(c, Backend::cuda, Dtype::f32, 2);
  const RowTruth row = truth_of({0, 1});
  const RowBounds b = row_bounds(t, row, shift_of(row, t));
  // The logit 1 may have entered at reference 0: up by 1, down by 1, at most three exps (two logits above
  // -1), two products. The logit 0 is its own reference, and is moved to 1 at most once.
  const double upper = 2 * u + 3 * lam(5 * u) + 2 * lam(u) + 1 * lam(u);
  const double lower = 0 + 1 * lam(5 * u) + 1 * lam(u) + 1 * lam(u);  // fl(0 - 1) is exact
  const double p = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(b.b, p * upper + (1 - p) * lower, 1e-11);
  EXPECT_GT(b.range_top, 1);
  // If rescaling is immediate, the maximum is never moved.
  c.rescale_threshold = 0;
  const RowBounds at_once =
      row_bounds(terms_of(c, Backend::cuda, Dtype::f32, 2), row, shift_of(row, Dtype::f32, true));
  EXPECT_NEAR(at_once.b, (1 - p) * lower + p * lam(u), 1e-11);
  EXPECT_EQ(at_once.range_top, 1);
}

TEST(Bounds, LogarithmsAreBoundedAbsolutely) {
  const RowTruth row = truth_of({1000, 1000});
  const Terms t = terms_of(safe_claim(), Backend::cuda, Dtype::f32, 2);
  const RowBounds b = row_bounds(t, row, shift_of(row, Dtype::f32, true));
  const LogBounds logs = log_bounds(t, row, b);
  const double ln2 = std::log(2.0);
  EXPECT_NEAR(logs.log_sum, 3 * u * ln2, 2e-12);
  EXPECT_NEAR(logs.lse, logs.log_sum + u * (1000 + ln2), 1e-11);
  EXPECT_NEAR(logs.element(t, -ln2, 0), logs.log_sum + u * ln2, 1e-12);
  Claim absorb = safe_claim();
  absorb.log_form = LogForm::absorb;
  EXPECT_NEAR(logs.element(terms_of(absorb, Backend::cuda, Dtype::f32, 2), -ln2, 0), logs.lse + u * ln2,
              1e-11);
  EXPECT_FALSE(outside_domain(absorb, truth_of({8193, 1}), 0).empty());
  EXPECT_TRUE(outside_domain(absorb, truth_of({8191, 1}), 0).empty());
  EXPECT_TRUE(outside_domain(safe_claim(), truth_of({5e6f, 1}), 0).empty());
}

// N(0, 10) at row length V = 32,768, serial: a few terms are nearly all of the sum. The error of an addition
// is at most its smaller operand, so the thousands of small terms cannot add much error.
TEST(Bounds, AHeadOfLargeTermsIsBoundedByItself) {
  Claim c = safe_claim();
  c.height = [](std::int64_t V) { return V; };
  const Tensor logits = make_input(*find_family("normal_10"), Dtype::f32, 32768, 1, 1);
  const RowTruth row = row_truth(Dtype::f32, logits.row(0), logits.V, Dtype::f32, {.tier = Tier::fast});
  const Terms t = terms_of(c, Backend::host, Dtype::f32, logits.V);
  const RowBounds b = row_bounds(t, row, shift_of(row, t));
  EXPECT_LT(b.b, 0.05 * 32768 * lam(u));
  EXPECT_GE(b.b, kShortSum * lam(u));
  // Equal terms have no head. Of n equal terms the k-th deepest has at most n - k + log2 k additions above
  // it.
  std::vector<float> zeros(4096, 0.0f);
  zeros[0] = -0x1p-20f;
  const RowTruth equal = truth_of(zeros);
  const Terms e = terms_of(c, Backend::host, Dtype::f32, 4096);
  const RowBounds flat = row_bounds(e, equal, shift_of(equal, e));
  EXPECT_LT(flat.b, 0.51 * 4096 * lam(u));
  EXPECT_GT(flat.b, 0.49 * 4096 * lam(u));
}

// Every kernel stays within its bound, and somewhere comes close to it: a bound that is never approached
// tests nothing. The lower limit is far below what is seen (0.3 to 0.99), and far above what a broken bound
// would give.
TEST(Bounds, AreSharpSomewhere) {
  for (const Variant& v : registry()) {
    if (v.backend != Backend::host || v.op != Op::softmax || v.dtype != Dtype::f32) continue;
    double largest = 0;
    for (const char* family : {"normal_1", "uniform_80", "ramp_1ulp", "constant"}) {
      const Case c(*find_family(family), v.dtype, 129, v.claim.causal == Causal::no ? 3 : 129, 1);
      const Record r = check_case(v, c, Op::softmax, 0);
      EXPECT_EQ(r.status, Status::pass) << v.key() << " " << family << ": " << r.reason;
      largest = std::max(largest, r.max_bound_ratio.value_or(0));
    }
    EXPECT_GT(largest, 0.1) << v.key();
    EXPECT_LE(largest, 1) << v.key();
  }
}

// Other functions that host kernels call: exp2f (class exp2_fma) and logf (log-softmax and lse). Each is
// compared with the error that accuracy/bounds/bounds.cpp grants it. The reference is a double function,
// which is within 2^-51 of the exact value.

constexpr double kU = 0x1p-24;

TEST(Exp2f, StaysWithinTheGrantedError) {
  // The limit for k = 0.01: relative (2 k + 1) u, and absolute (2 k + 1) halves of the smallest subnormal.
  double worst = 0, worst_tiny = 0;
  const auto visit = [&](float t) {
    const double e = std::exp2(static_cast<double>(t));
    if (e >= 0x1.ffffffp127) return;
    const double error = std::fabs(static_cast<double>(::exp2f(t)) - e);
    if (e >= 0x1p-126)
      worst = std::max(worst, error / (e * kU));
    else
      worst_tiny = std::max(worst_tiny, error / 0x1p-150);
  };
  for (std::uint32_t b = 0; b <= std::bit_cast<std::uint32_t>(150.0f); b += 251) {
    visit(std::bit_cast<float>(b));
    visit(-std::bit_cast<float>(b));
  }
  for (int k = -150 * 64; k <= 128 * 64; ++k) visit(static_cast<float>(k) / 64);
  EXPECT_LT(worst, 1.02);
  EXPECT_LT(worst_tiny, 1.02);
  EXPECT_GT(worst, 0.99) << "the comparison measures nothing";
  RecordProperty("worst_u", std::to_string(worst));
  EXPECT_EQ(::exp2f(0.0f), 1.0f);
  EXPECT_EQ(::exp2f(-HUGE_VALF), 0.0f);
}

TEST(Logf, StaysWithinTheGrantedError) {
  double worst = 0;
  for (std::uint32_t b = 0x800000; b < 0x7f800000; b += 251) {
    const auto x = std::bit_cast<float>(b);
    const double exact = std::log(static_cast<double>(x));
    if (exact != 0) worst = std::max(worst, std::fabs((static_cast<double>(::logf(x)) - exact) / exact) / kU);
  }
  // Around 1, where a relative error is hardest to keep.
  for (std::uint32_t b = 0x3f700000; b < 0x3f900000; ++b) {
    const auto x = std::bit_cast<float>(b);
    const double exact = std::log(static_cast<double>(x));
    if (exact != 0) worst = std::max(worst, std::fabs((static_cast<double>(::logf(x)) - exact) / exact) / kU);
  }
  EXPECT_LT(worst, 1.35);
  EXPECT_GT(worst, 0.99) << "the comparison measures nothing";
  RecordProperty("worst_u", std::to_string(worst));
  EXPECT_EQ(::logf(1.0f), 0.0f);
}

}  // namespace
}  // namespace assay
