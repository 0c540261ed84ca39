// SPDX-License-Identifier: Apache-2.0
// Verdicts on lse and log-softmax, in both directions: clearly wrong outputs never pass, in any format and
// however coarse the claimed arithmetic is; correctly rounded ones are never refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using namespace strangers;
using namespace toxic;

constexpr std::int64_t kLogLengths[] = {33, 4096, 12000, 131072};

double middle(const Enclosure& e) { return 0.5 * (e.lo + e.hi); }
double exact_lse(const Case& c, std::int64_t row, std::size_t) { return middle(c.truth(row).lse); }
/// Like log_prob_truth for s far from 1, as in these rows.
double exact_log(const Case& c, std::int64_t row, std::size_t j) {
  const RowTruth& t = c.truth(row);
  return t.d[j] - std::log(middle(t.s));
}

constexpr Toxic kToxicLse[] = {
    {"0", [](const Case&, std::int64_t, std::size_t) { return 0.0; }},
    {"ln 2 too much",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact_lse(c, row, j) + std::log(2.0); }},
    {"ln 2 too little",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact_lse(c, row, j) - std::log(2.0); }},
    {"the maximum", [](const Case& c, std::int64_t row, std::size_t) { return c.truth(row).m; }},
};
constexpr Toxic kToxicLogs[] = {
    {"zeros", [](const Case&, std::int64_t, std::size_t) { return 0.0; }},
    {"-ln V", [](const Case& c, std::int64_t, std::size_t) { return -std::log(static_cast<double>(c.V())); }},
    {"ln 2 too much",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact_log(c, row, j) + std::log(2.0); }},
    {"x - m", [](const Case& c, std::int64_t row, std::size_t j) { return c.truth(row).d[j]; }},
    {"the next row's",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact_log(c, (row + 1) % c.rows(), j); }},
};

Variant log_variant(Op op, const char* words, Dtype t) {
  Variant v = stranger(two_pass, words, t, t);
  v.op = op;
  return v;
}
/// Judges outputs alone. The nearest class of failures is not looked for.
Record grade(const Variant& v, const Case& c, Value of) {
  CheckOptions options;
  options.nearest = false;
  return judge_written(v, c, v.op, 0, outputs_of(v, c, of), options);
}

constexpr const char* kWords[] = {"", "height=V/256+13", "internals=bf16; exp=half",
                                  "internals=bf16; exp=half; height=V/256+13", "internals=f16; exp=half"};

class ToxicLogs : public testing::TestWithParam<Dtype> {};

TEST_P(ToxicLogs, NeverPassAndCorrectlyRoundedOnesAreNeverRefused) {
  const Dtype t = GetParam();
  for (const std::int64_t V : kLogLengths) {
    const Case& c = rows_of("normal_1", t, V);
    for (const char* words : kWords) {
      const Variant lse = log_variant(Op::lse, words, t), logs = log_variant(Op::log_softmax, words, t);
      const std::string where = std::string("'") + words + "', V = " + std::to_string(V) + ": ";
      for (const Toxic& toxic : kToxicLse) {
        const Record r = grade(lse, c, toxic.output);
        EXPECT_NE(r.status, Status::pass)
            << "lse, " << toxic.name << ", " << where << r.resolution.value_or(-1);
      }
      for (const Toxic& toxic : kToxicLogs) {
        const Record r = grade(logs, c, toxic.output);
        EXPECT_NE(r.status, Status::pass)
            << "logs, " << toxic.name << ", " << where << r.resolution.value_or(-1);
      }
      for (const Record& r : {grade(lse, c, exact_lse), grade(logs, c, exact_log)}) {
        EXPECT_NE(r.status, Status::fail) << r.op << ", " << where << r.reason;
        EXPECT_FALSE(std::isnan(r.max_bound_ratio.value_or(0))) << r.op << ", " << where;
        if (t == Dtype::f32 && !*words) {
          EXPECT_EQ(r.status, Status::pass) << r.op << ", " << where << r.reason;
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, ToxicLogs, testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16),
                         [](const auto& i) { return std::string(name(i.param)); });

// A serial bf16 sum of 4096 terms may be off by a factor of e^16. The lse is about 8.8, so 0 is within the
// bound.
TEST(LogVerdict, ABf16LseOfZeroAt4096DoesNotPass) {
  for (const char* words : {"internals=bf16; exp=half", "internals=bf16; exp=half; height=V",
                            "internals=bf16; exp=half; height=V/256+13", ""}) {
    const Case& c = rows_of("normal_1", Dtype::bf16, 4096);
    const Record r = grade(log_variant(Op::lse, words, Dtype::bf16), c, kToxicLse[0].output);
    EXPECT_NE(r.status, Status::pass) << words << ": resolution " << r.resolution.value_or(-1);
    // With f32 arithmetic it is refused, not left open.
    if (!*words) {
      EXPECT_EQ(r.status, Status::fail) << r.reason;
    }
  }
}

// Infinity times 0, and infinity minus infinity, are NaN. Bounds must be no NaN even if the sum's log-error
// is infinite.
TEST(LogVerdict, NoBoundIsNaN) {
  int infinite = 0;
  for (const Dtype t : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const std::int64_t V : {12000, 131072})
      for (const char* words : kWords)
        for (const Op op : {Op::lse, Op::log_softmax}) {
          const Variant v = log_variant(op, words, t);
          const Case& c = rows_of("normal_1", t, V);
          const Terms terms = terms_of(v.claim, v.backend, v.out(), V);
          const PreparedRow row = prepare_row(v.claim, terms, c.truth(0), op, 0);
          ASSERT_TRUE(row.bounds);
          const LogBounds bounds = log_bounds(terms, c.truth(0), *row.bounds);
          infinite += std::isinf(bounds.lse);
          EXPECT_FALSE(std::isnan(row.bounds->b)) << words << ", V = " << V;
          EXPECT_FALSE(std::isnan(bounds.log_sum)) << words << ", V = " << V;
          EXPECT_FALSE(std::isnan(bounds.lse)) << words << ", V = " << V;
          for (const double y : {0.0, -1.0, -20.0})
            EXPECT_FALSE(std::isnan(bounds.element(terms, y, std::fabs(row.shift().delta[1]))))
                << words << ", V = " << V;
        }
  EXPECT_GT(infinite, 0) << "the lengths are to show something";
}

/// Log-softmax of class exp2_fma. The sum is that of 2^fma(x, log2 e, -fl(m log2 e)), as in
/// kernels/building_blocks/normalizer.cuh. Its log is subtracted from fl(x - m), or the lse is subtracted
/// from x.
Variant exp2_log_softmax(bool absorb, const char* words) {
  Variant v = log_variant(Op::log_softmax, words, Dtype::f32);
  v.run = [absorb](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      float* y = static_cast<float*>(b.probs) + r * p.out_pitch;
      const float m = max_of(x, p.V), c = m * kLog2e;
      float d = 0;
      for (std::int64_t i = 0; i < p.V; ++i) d += std::exp2(std::fma(x[i], kLog2e, -c));
      const float l = std::log(d);
      for (std::int64_t i = 0; i < p.V; ++i) y[i] = absorb ? x[i] - (m + l) : (x[i] - m) - l;
    }
  };
  return v;
}

// The FMA rounds the difference once; fl(x - m) rounds it at another place. Either error may be the larger
// one. A judge that knows only the FMA's error refuses rows of all spreads except the first.
TEST(LogVerdict, Exp2FmaLogSoftmaxPassesOnAThousandRandomRows) {
  constexpr std::int64_t kRows = 250, kV = 65;
  std::mt19937 random(14);
  for (const double spread : {0.3, 3.0, 20.0, 60.0}) {
    Tensor logits(Dtype::f32, kRows, kV);
    std::normal_distribution<double> normal(0, spread);
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t j = 0; j < kV; ++j) logits.set(r, j, normal(random));
    const Case c("random rows", std::move(logits));
    for (const char* words : {"exp=exp2_fma", "exp=exp2_fma; algorithm=safe; height=V; log_form=shifted"}) {
      const Record r = check_case(exp2_log_softmax(false, words), c, Op::log_softmax, 0);
      EXPECT_EQ(r.status, Status::pass) << words << ", spread " << spread << ": " << r.reason;
    }
    const Record absorb = check_case(exp2_log_softmax(true, "exp=exp2_fma"), c, Op::log_softmax, 0);
    EXPECT_EQ(absorb.status, Status::pass) << "x - lse, spread " << spread << ": " << absorb.reason;
  }
}

// Both tiers of the oracle give the same verdict, for every host key on every family and every mutant on
// some.

/// Failures of every check, in one line.
std::string failures(const Record& r) {
  std::string s = std::string(name(r.status)) + " ";
  for (const CheckResult& c : r.checks)
    s += std::string(name(c.check)) + ":" + std::to_string(c.failed) + "/" + std::to_string(c.judged) + " ";
  return s;
}

struct Counts {
  std::int64_t records = 0, failed = 0, escalated = 0;
};

void compare(const Variant& v, const Case& fast, const Case& exact, Counts& counts) {
  const Op op = v.op;
  const Record a = check_case(v, fast, op, 5);
  const Record b = check_case(v, exact, op, 5);
  ++counts.records;
  counts.failed += b.status == Status::fail;
  counts.escalated += a.escalated > 0;
  EXPECT_EQ(failures(a), failures(b)) << a.reproduce;
  EXPECT_EQ(a.correctly_rounded, b.correctly_rounded) << a.reproduce;
}

class Tiers : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, Tiers, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Tiers, GiveTheSameVerdicts) {
  Counts counts;
  for (const Family& family : families())
    for (const std::int64_t V : {2, 33, 513}) {
      if (!applies(family, GetParam(), V)) continue;
      const Case fast(family, GetParam(), V, 2, 1), exact(family, GetParam(), V, 2, 1, Tier::mpfr);
      for (const Variant& v : registry())
        if (v.dtype == GetParam() && v.backend == Backend::host) compare(v, fast, exact, counts);
      if (V == 513)
        // Every fifth of more than a hundred mutants; other ones on the next family.
        for (std::size_t i = 0; i < mutants().size(); ++i) {
          const Mutant& m = mutants()[i];
          if (m.variant.dtype == GetParam() && m.variant.backend == Backend::host && m.single_case() &&
              (i + static_cast<std::size_t>(&family - families().data())) % 5 == 0)
            compare(m.variant, fast, exact, counts);
        }
    }
  std::printf("%lld records, %lld of them failures, %lld decided by MPFR\n",
              static_cast<long long>(counts.records), static_cast<long long>(counts.failed),
              static_cast<long long>(counts.escalated));
  EXPECT_GT(counts.records, 500);
  // With so many records, fp64 leaves some comparison undecided. So the way through MPFR was taken, with the
  // same verdict.
  if (GetParam() == Dtype::f32) {
    EXPECT_GT(counts.escalated, 0);
  }
  // Most mutants are f32.
  EXPECT_GE(counts.failed, GetParam() == Dtype::f32 ? 300 : 0);
}

}  // namespace
}  // namespace assay
