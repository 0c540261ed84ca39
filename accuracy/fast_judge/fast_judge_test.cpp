// SPDX-License-Identifier: Apache-2.0
// Compares the fast judge with the full check: what its first look passes passes there too, its verdicts are
// the same element by element, and it leaves what it must not judge.
#include "accuracy/fast_judge/fast_judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "accuracy/fast_judge/kernel.hpp"
#include "accuracy/judge/row_judge.hpp"
#include "kernels/device.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

std::vector<Claim> claims() {
  const auto serial = [](std::int64_t V) { return V - 1; };
  const auto tree = [](std::int64_t V) { return V / 256 + 9; };
  Claim safe, online, fast_exp, loose;
  safe.height = tree;
  online.algorithm = Algorithm::online;
  online.height = tree;
  fast_exp = online;
  fast_exp.exp = Exp::fast;
  fast_exp.division = Division::approximate;
  loose = online;
  loose.height = serial;
  Claim reciprocal = safe, lazy = online;
  reciprocal.division = Division::reciprocal;
  lazy.rescale_threshold = 30;
  return {safe, online, fast_exp, loose, reciprocal, lazy};
}

/// A row of outputs: the exact ones, moved by `part` of their bound, up or down at random, and rounded to the
/// dtype.
struct Pushed {
  Tensor probs;
  std::int64_t failing = 0;  // by the full check
};
Pushed push(const Claim& claim, const Tensor& x, double part, std::mt19937_64& random) {
  const Terms terms = terms_of(claim, Backend::cuda, x.dtype, x.V);
  const RowTruth t = row_truth(x.dtype, x.row(0), x.V, x.dtype);
  const RoundedShift shift = shift_of(t, Dtype::f32, true);
  const RowBounds b = row_bounds(terms, t, shift);
  Pushed out{Tensor(x.dtype, 1, x.V), 0};
  const RowCase row_case{&t, 0};
  Tally tally;
  ErrorStatistics ignored;
  const RowContext c{claim, terms, x.dtype, x.dtype, row_case, &b, &shift, tally, ignored, nullptr};
  for (std::int64_t j = 0; j < x.V; ++j) {
    const auto i = static_cast<std::size_t>(j);
    const double p = 0.5 * (t.lo[i] + t.hi[i]);
    const double A = std::min(part * b.A[i], 0.6);
    const double up = p * std::exp(A) + part * b.w, down = p * std::exp(-A) - part * b.w;
    double g = std::isinf(t.d[i]) ? 0 : random() % 2 ? up : down;
    if (random() % 4 == 0) g = p;
    out.probs.set(0, j, std::clamp(g, 0.0, 1.0));
    out.failing += !judge_element(c, j, out.probs.at(0, j), load_bits(x.dtype, out.probs.row(0), j));
  }
  return out;
}

Outputs outputs_of(const Tensor& x, const Tensor& g) {
  return {x.dtype, g.dtype, x.rows, x.V, x.bytes.data(), x.V, g.bytes.data(), g.V};
}

/// What the first look alone leaves open.
std::int64_t open_after_first_look(const Claim& claim, const Tensor& x, const Tensor& g) {
  fast::ClaimConstants c = fast::claim_constants(terms_of(claim, Backend::cuda, g.dtype, x.V));
  c.emin = format(g.dtype).emin;
  c.mantissa_bits = format(g.dtype).mantissa_bits();
  std::vector<float> xf, gf;
  for (std::int64_t i = 0; i < x.V; ++i) {
    xf.push_back(static_cast<float>(x.at(0, i)));
    gf.push_back(static_cast<float>(g.at(0, i)));
  }
  std::vector<double> e(xf.size());
  return fast::generic::judge_kernel.row(c, xf.data(), gf.data(), x.V, e.data()).open;
}

class FastJudge : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, FastJudge, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(FastJudge, PassesOnlyWhatTheFullCheckPasses) {
  std::mt19937_64 random(3);
  std::int64_t rows = 0, passed_at_once = 0, failing_rows = 0;
  for (const Claim& claim : claims())
    for (const Family& family : families())
      for (const std::int64_t V : {2, 33, 1000})
        for (const double part : {0.0, 0.5, 0.97, 0.9999, 1.0001, 1.1}) {
          if (!applies(family, GetParam(), V)) continue;
          const Tensor x = make_input(family, GetParam(), V, 1, static_cast<std::uint64_t>(V));
          const RowTruth t = row_truth(x.dtype, x.row(0), V, x.dtype);
          if (t.kind != RowKind::finite && t.kind != RowKind::masked) continue;
          const Pushed g = push(claim, x, part, random);
          ++rows;
          failing_rows += g.failing > 0;
          const std::int64_t open = open_after_first_look(claim, x, g.probs);
          passed_at_once += open == 0;
          // Row sums of such rows may be off; then the row is open, not passed.
          ASSERT_TRUE(open > 0 || g.failing == 0)
              << family.name << ", V = " << V << ", pushed to " << part << " of the bound: " << g.failing
              << " elements fail the full check and pass the first look";
        }
  EXPECT_GT(failing_rows, rows / 10) << "of " << rows;
  EXPECT_GT(passed_at_once, rows / 20) << "of " << rows;
}

TEST_P(FastJudge, CountsTheFailuresOfTheFullCheck) {
  std::mt19937_64 random(4);
  for (const Claim& claim : claims())
    for (const double part : {0.3, 1.05}) {
      const Tensor x = make_input(*find_family("normal_10"), GetParam(), 1000, 1, 2);
      const Pushed g = push(claim, x, part, random);
      const FastJudgement j = judge_fast(claim, Backend::cuda, outputs_of(x, g.probs), 1);
      const std::int64_t beside = j.failed - g.failing;  // the row sum
      EXPECT_TRUE(beside == 0 || beside == 1) << j.failed << " against " << g.failing;
      EXPECT_EQ(j.elements, 1000);
      EXPECT_EQ(j.unjudged, 0);
      EXPECT_EQ(j.failed > 0, !j.first_failure.empty());
    }
}

TEST_P(FastJudge, FindsOneWrongElementInAMillion) {
  const Claim claim = claims()[0];
  const std::int64_t rows = 32, V = 32768;
  const Tensor x = make_input(*find_family("normal_1"), GetParam(), V, rows, 1);
  Tensor g(x.dtype, rows, V);
  for (std::int64_t r = 0; r < rows; ++r) {
    OracleOptions options;
    options.tier = Tier::fast;
    const RowTruth t = row_truth(x.dtype, x.row(r), V, x.dtype, options);
    for (std::int64_t i = 0; i < V; ++i)
      store_bits(x.dtype, g.row(r), i, t.rounded[static_cast<std::size_t>(i)]);
  }
  const FastJudgement right = judge_fast(claim, Backend::cuda, outputs_of(x, g));
  EXPECT_EQ(right.failed, 0) << right.first_failure;
  EXPECT_EQ(right.open, 0);
  EXPECT_EQ(right.elements, rows * V);
  EXPECT_LE(right.statistics.max_ulp, 0.5f + 0x1p-20f);
  EXPECT_EQ(right.statistics.correctly_rounded + right.statistics.rounding_undecided, rows * V);
  g.set(17, 31000, g.at(17, 31000) * 1.02);
  const FastJudgement wrong = judge_fast(claim, Backend::cuda, outputs_of(x, g));
  EXPECT_EQ(wrong.failed, 1) << wrong.first_failure;
  EXPECT_NE(wrong.first_failure.find("row 17, column 31000"), std::string::npos) << wrong.first_failure;
}

/// The same source on a GPU: it passes no failing element, and its counts equal the host's.
TEST_P(FastJudge, IsTheSameOnTheDevice) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  std::mt19937_64 random(3);
  std::int64_t failing_rows = 0;
  for (const Claim& claim : claims())
    for (const Family& family : families())
      for (const std::int64_t V : {1, 2, 33, 1000, 4099})
        for (const double part : {0.0, 0.97, 1.0001, 1.1}) {
          if (!applies(family, GetParam(), V)) continue;
          const Tensor x = make_input(family, GetParam(), V, 1, static_cast<std::uint64_t>(V));
          const RowTruth t = row_truth(x.dtype, x.row(0), V, x.dtype);
          if (t.kind != RowKind::finite && t.kind != RowKind::masked) continue;
          const Pushed g = push(claim, x, part, random);
          const FastJudgement host = judge_fast(claim, Backend::cuda, outputs_of(x, g.probs), 1);
          const FastJudgement device = judge_fast_by_device(claim, Backend::cuda, outputs_of(x, g.probs));
          failing_rows += host.failed > 0;
          ASSERT_EQ(host.failed, device.failed) << family.name << ", V = " << V << ", " << part;
          ASSERT_EQ(host.elements, device.elements);
          ASSERT_EQ(host.unjudged, device.unjudged);
          ASSERT_TRUE(host.failed == 0 || device.open > 0);
          if (host.open > 0 || device.open > 0) continue;
          EXPECT_NEAR(host.statistics.max_ulp, device.statistics.max_ulp,
                      1e-4f * host.statistics.max_ulp + 1e-6f);
          EXPECT_EQ(host.statistics.correctly_rounded, device.statistics.correctly_rounded);
        }
  EXPECT_GT(failing_rows, 100);
}

TEST(FastJudgeDevice, ExpIsTheHostsBitForBit) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  std::mt19937_64 random(11);
  for (int round = 0; round < 16; ++round) {
    std::vector<double> t(1 << 22), t_lo(t.size());
    for (std::size_t i = 0; i < t.size(); ++i) {
      t[i] = -708 * static_cast<double>(random() >> 11) * 0x1p-53;
      if (i % 3 == 0) t[i] = -t[i] / (i % 1000 + 1);
      t_lo[i] = i % 2 ? 0 : static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-107;
    }
    const std::vector<double> device = exps_by_device(t, t_lo);
    for (std::size_t i = 0; i < t.size(); ++i) ASSERT_EQ(device[i], fast::exp(t[i], t_lo[i])) << t[i];
  }
}

/// What the device found for a row, compared with the exact results: its enclosures contain MPFR's, and its
/// bounds are below the full ones.
TEST_P(FastJudge, DeviceEnclosuresContainMpfr) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  std::int64_t elements = 0;
  for (const Claim& claim : claims())
    for (const Family& family : families())
      for (const std::int64_t V : {2, 33, 4099, 50257}) {
        if (!applies(family, GetParam(), V)) continue;
        const Tensor x = make_input(family, GetParam(), V, 1, 3);
        const RowTruth t = row_truth(x.dtype, x.row(0), V, x.dtype);
        if (t.kind != RowKind::finite && t.kind != RowKind::masked) continue;
        std::vector<fast::RowConstants> found;
        judge_fast_by_device(claim, Backend::cuda, outputs_of(x, x), &found);
        ASSERT_EQ(found.size(), 1u);
        const Terms terms = terms_of(claim, Backend::cuda, x.dtype, V);
        const RowBounds b = row_bounds(terms, t, shift_of(t, Dtype::f32, true));
        ASSERT_LE(static_cast<double>(found[0].common), lam(terms.D) + lam(terms.u_out) + b.b) << family.name;
        ASSERT_LE(found[0].w, b.w) << family.name;
        for (std::int64_t j = 0; j < V; ++j) {
          float f, err;
          fast::round_shift(static_cast<float>(x.at(0, j)), found[0].m, f, err);
          if (!(f >= fast::kNearest)) continue;
          const double p = fast::exp_shift(f, err) * found[0].inverse_s;
          const auto i = static_cast<std::size_t>(j);
          ASSERT_TRUE(p * (1 - 0x1p-50) <= t.lo[i] && t.hi[i] <= p * (1 + 0x1p-50))
              << family.name << " " << j;
          ++elements;
        }
      }
  EXPECT_GE(elements, 1'000'000);
}

TEST(FastJudgeSpecial, LeavesRowsWithoutABoundToTheFullCheck) {
  Tensor x(Dtype::f32, 3, 4), g(Dtype::f32, 3, 4);
  for (int i = 0; i < 4; ++i) {
    x.set(0, i, i == 2 ? NAN : 1);
    x.set(1, i, i == 0 ? INFINITY : 0);
    x.set(2, i, -INFINITY);
  }
  const FastJudgement j = judge_fast(claims()[0], Backend::cuda, outputs_of(x, g), 1);
  EXPECT_EQ(j.unjudged, 12);
  EXPECT_EQ(j.failed, 0);
  EXPECT_EQ(j.elements, 0);
}

TEST(FastJudgeSpecial, MaskedLogitsMustGiveExactlyZero) {
  Tensor x(Dtype::f32, 1, 3), g(Dtype::f32, 1, 3);
  x.set(0, 0, 1);
  x.set(0, 1, -INFINITY);
  x.set(0, 2, 1);
  g.set(0, 0, 0.5);
  g.set(0, 2, 0.5);
  EXPECT_EQ(judge_fast(claims()[0], Backend::cuda, outputs_of(x, g), 1).failed, 0);
  g.set(0, 1, 1e-45);
  EXPECT_EQ(judge_fast(claims()[0], Backend::cuda, outputs_of(x, g), 1).failed, 1);
  g.set(0, 1, 0);
  g.set(0, 2, NAN);
  EXPECT_GE(judge_fast(claims()[0], Backend::cuda, outputs_of(x, g), 1).failed, 1);
  g.set(0, 2, -0.5);
  EXPECT_GE(judge_fast(claims()[0], Backend::cuda, outputs_of(x, g), 1).failed, 1);
}

TEST(FastJudgeKernel, IsTheSameOnEveryCpu) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this CPU has no AVX2";
  std::mt19937_64 random(5);
  const fast::ClaimConstants c =
      fast::claim_constants(terms_of(claims()[1], Backend::cuda, Dtype::f32, 1003));
  for (const char* family : {"normal_1", "uniform_80", "masked_random"}) {
    const Family* f = find_family(family);
    if (!f) continue;
    const Tensor x = make_input(*f, Dtype::f32, 1003, 1, 1);
    const Pushed g = push(claims()[1], x, 0.7, random);
    std::vector<float> xf, gf;
    for (std::int64_t i = 0; i < x.V; ++i) {
      xf.push_back(static_cast<float>(x.at(0, i)));
      gf.push_back(static_cast<float>(g.probs.at(0, i)));
    }
    std::vector<double> e(xf.size());
    const fast::RowLook a = fast::generic::judge_kernel.row(c, xf.data(), gf.data(), x.V, e.data());
    const fast::RowLook b = fast::avx2::judge_kernel.row(c, xf.data(), gf.data(), x.V, e.data());
    EXPECT_EQ(a.open, b.open);
    EXPECT_EQ(a.sum, b.sum);
    EXPECT_EQ(a.statistics.max_ulp, b.statistics.max_ulp);
    EXPECT_EQ(a.statistics.sum_ulp, b.statistics.sum_ulp);
    EXPECT_EQ(a.statistics.utilisation, b.statistics.utilisation);
  }
}

}  // namespace
}  // namespace assay
