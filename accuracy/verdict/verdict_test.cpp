// SPDX-License-Identifier: Apache-2.0
// A verdict is right in both directions at common row lengths V. Clearly wrong outputs never pass, whatever
// class is claimed. Correctly rounded ones are never refused. A kernel without a declaration is judged by the
// sum that was measured.
#include "accuracy/verdict/verdict.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay {
namespace {

using namespace strangers;
using namespace toxic;

bool fits(const char* family, Dtype t, std::int64_t V) { return applies(*find_family(family), t, V); }

constexpr const char* kClaims[] = {
    "",
    "algorithm=safe; height=V/256+13; division=ieee; normalise=recomputed",
    "algorithm=online; height=V; division=ieee; normalise=recomputed",
    "algorithm=safe; height=V",
    "exp=fast; height=V/256+13",
    "exp=exp2_fma; division=reciprocal",
    "algorithm=naive; height=V",
    "rescale_threshold=8; height=V/256+13",
    "shift=any; ftz=yes",
    "internals=bf16; exp=half",
    "internals=bf16; exp=half; height=V/256+13",
    "internals=f16; exp=half",
    "internals=f16; exp=half; height=V/256+13; algorithm=safe",
};

/// One format, and rows either up to 11,000 or longer: together they take minutes.
class ToxicOutputs : public testing::TestWithParam<std::tuple<Dtype, bool>> {};

TEST_P(ToxicOutputs, NeverPassAndCorrectlyRoundedOnesAreNeverRefused) {
  const auto [t, long_rows] = GetParam();
  int judged = 0;
  for (const std::int64_t V : {2, 3, 33, 1000, 4096, 11000, 131072, 1 << 20}) {
    if (long_rows != (V > 11000)) continue;
    const Case& c = rows_of("normal_1", t, V);
    for (const char* words : kClaims) {
      // Long rows: only the classes whose bounds are weakest there.
      if (V > 11000 && *words && (V > 131072 || !std::string_view(words).starts_with("internals=bf16")))
        continue;
      const Variant v = stranger(two_pass, words, t, t);
      const toxic::MadeOutputs right = outputs_of(v, c, exact);
      CheckOptions options;
      options.nearest = false;
      const Record r = judge_written(v, c, Op::softmax, 0, right, options);
      EXPECT_NE(r.status, Status::fail) << words << " V = " << V << ": " << r.reason;
      for (const Toxic& toxic : kToxic) {
        const toxic::MadeOutputs wrong = outputs_of(v, c, toxic.output);
        // In a narrow format, or in a short row, it may be the right answer.
        if (wrong.values() == right.values()) continue;
        const Record w = judge_written(v, c, Op::softmax, 0, wrong, options);
        EXPECT_NE(w.status, Status::pass)
            << toxic.name << ", '" << words << "', V = " << V << ": resolution " << w.resolution.value_or(-1);
        ++judged;
      }
    }
  }
  EXPECT_GT(judged, long_rows ? 20 : 450);
}
INSTANTIATE_TEST_SUITE_P(Formats, ToxicOutputs,
                         testing::Combine(testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16),
                                          testing::Bool()),
                         [](const auto& i) {
                           return std::string(name(std::get<0>(i.param))) +
                                  (std::get<1>(i.param) ? "_long_rows" : "_rows_to_11000");
                         });

// What ToxicOutputs leaves out: declared classes at the length of a vocabulary. A right answer passes there
// if the class is sharp enough to separate it from a wrong one. With f16 arithmetic nothing can be said
// there.
TEST(Verdict, DeclaredClassesAtTheLengthOfAVocabularyPassWhatIsRightAndNothingElse) {
  const Case& c = rows_of("normal_1", Dtype::f32, 131072, 1);
  CheckOptions options;
  options.nearest = false;
  for (const char* words : {"height=V/256+13", "algorithm=safe; height=V", "internals=f16; exp=half",
                            "internals=f16; exp=half; algorithm=safe; height=V/256+13"}) {
    const Variant v = stranger(two_pass, words);
    const bool judges = !std::string_view(words).starts_with("internals");
    const toxic::MadeOutputs right = outputs_of(v, c, exact);
    const Record r = judge_written(v, c, Op::softmax, 0, right, options);
    if (judges) {
      EXPECT_EQ(r.status, Status::pass) << words << ": " << r.reason;
    } else {
      EXPECT_TRUE(r.status == Status::inconclusive || r.status == Status::unsupported)
          << words << ": " << r.reason;
    }
    for (const Toxic& toxic : kToxic) {
      const toxic::MadeOutputs wrong = outputs_of(v, c, toxic.output);
      if (wrong.values() == right.values()) continue;  // if there is one row, the next row is itself
      const Record w = judge_written(v, c, Op::softmax, 0, wrong, options);
      EXPECT_NE(w.status, Status::pass)
          << toxic.name << ", '" << words << "': resolution " << w.resolution.value_or(-1);
    }
  }
}

// One term needs no addition: (m, 1) is exact, and a height of 0 says so.
TEST(Verdict, ARowOfOneTermPassesUnderAHeightOfZero) {
  Variant v;
  v.variant = "one_term";
  v.claim = {.algorithm = Algorithm::safe, .height = [](std::int64_t V) { return V - 1; }};
  v.run = [](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      if (b.probs) static_cast<float*>(b.probs)[r * p.out_pitch] = 1;
      b.m[r] = *x, b.d[r] = 1;
    }
  };
  ASSERT_EQ(v.claim.height(1), 0);
  for (const Algorithm algorithm : {Algorithm::safe, Algorithm::online}) {
    v.claim.algorithm = algorithm;
    for (const char* family : {"normal_1", "normal_10", "shifted_1000"})
      for (const Op op : {Op::softmax, Op::normalizer}) {
        const Record r = check_case(v, rows_of(family, Dtype::f32, 1), op, 0);
        EXPECT_EQ(r.status, Status::pass)
            << name(algorithm) << ", " << family << ", " << name(op) << ": " << r.reason;
      }
  }
}

TEST(Verdict, UndeclaredOutputsAlonePassOnlyWhereTheyAreSharp) {
  const Variant v = stranger(two_pass);
  for (const std::int64_t V : {4096, 131072}) {
    const Case& c = rows_of("normal_1", Dtype::f32, V, 1);
    const auto scaled = [&](double by) {
      std::vector<double> values;
      for (std::size_t j = 0; j < static_cast<std::size_t>(V); ++j) values.push_back(by * exact(c, 0, j));
      return judge_written(v, c, Op::softmax, 0, toxic::MadeOutputs(v, 1, V, std::move(values)));
    };
    const Record right = scaled(1);
    EXPECT_EQ(right.status, Status::pass) << right.reason;
    ASSERT_TRUE(right.resolution && right.resolution_sum);
    EXPECT_LT(*right.resolution, 2e-4);
    // An error of the printed resolution is refused, within a factor.
    EXPECT_NE(scaled(1 + 4 * *right.resolution).status, Status::pass);
    EXPECT_NE(scaled(1.0005).status, Status::pass) << V;
    EXPECT_NE(scaled(1.004).status, Status::pass) << V;
    EXPECT_EQ(scaled(1.2).status, Status::fail) << V;
    if (V == 131072) {
      // Between roundings of mixed sign and a serial sum's worst case nothing can be decided.
      const Record open = scaled(1.0005);
      EXPECT_EQ(open.status, Status::inconclusive);
      EXPECT_NE(open.reason.find("height="), std::string::npos) << open.reason;
    }
  }
}

// Kernels of 256 threads, each with its share of the columns, merged by a tree.

constexpr std::int64_t kVerdictThreads = 256;

/// `partial` sums a thread's share under the row's maximum m; `merged` is the sum as it is used.
template <class Partial, class Merged>
void block(const float* x, float* p, std::int64_t V, Partial partial, Merged merged) {
  const float m = max_of(x, V);
  float sums[kVerdictThreads] = {};
  for (std::int64_t thread = 0; thread < kVerdictThreads; ++thread) sums[thread] = partial(x, V, thread, m);
  const float d = merged(pairwise(sums, kVerdictThreads));
  for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m) / d;
}
float whole(float d) { return d; }
float share(const float* x, std::int64_t V, std::int64_t thread, float m) {
  float d = 0;
  for (std::int64_t i = thread; i < V; i += kVerdictThreads) d += std::exp(x[i] - m);
  return d;
}
void right_block_of_verdict(const float* x, float* p, std::int64_t V) { block(x, p, V, share, whole); }
/// Each thread has its own running maximum; they are merged at the end.
void right_online_block(const float* x, float* p, std::int64_t V) {
  block(
      x, p, V,
      [](const float* row, std::int64_t n, std::int64_t thread, float m) {
        float own = -INFINITY, d = 0;
        for (std::int64_t i = thread; i < n; i += kVerdictThreads) {
          const float next = std::fmax(own, row[i]);
          if (row[i] == -INFINITY) continue;
          d = d * std::exp(own - next) + std::exp(row[i] - next);
          own = next;
        }
        return own == -INFINITY ? 0.0f : d * std::exp(own - m);
      },
      whole);
}
void lost_thread(const float* x, float* p, std::int64_t V) {
  block(
      x, p, V,
      [](const float* row, std::int64_t n, std::int64_t thread, float m) {
        return thread == 77 ? 0.0f : share(row, n, thread, m);
      },
      whole);
}
void thread_not_rescaled(const float* x, float* p, std::int64_t V) {
  block(
      x, p, V,
      [](const float* row, std::int64_t n, std::int64_t thread, float m) {
        if (thread != 77) return share(row, n, thread, m);
        float own = -INFINITY;
        for (std::int64_t i = thread; i < n; i += kVerdictThreads) own = std::fmax(own, row[i]);
        return share(row, n, thread, own);
      },
      whole);
}
void truncated_exps(const float* x, float* p, std::int64_t V) {
  block(
      x, p, V,
      [](const float* row, std::int64_t n, std::int64_t thread, float m) {
        float d = 0;
        for (std::int64_t i = thread; i < n; i += kVerdictThreads)
          d += std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::exp(row[i] - m)) & 0xffff0000u);
        return d;
      },
      whole);
}
void sum_as_bf16(const float* x, float* p, std::int64_t V) {
  block(x, p, V, share, [](float d) { return to_bf16(d); });
}
void far_terms_left_out(const float* x, float* p, std::int64_t V) {
  block(
      x, p, V,
      [](const float* row, std::int64_t n, std::int64_t thread, float m) {
        float own = -INFINITY, d = 0;
        for (std::int64_t i = thread; i < n; i += kVerdictThreads) {
          own = std::fmax(own, row[i]);
          if (row[i] - own > -10) d += std::exp(row[i] - m);
        }
        return d;
      },
      whole);
}

struct Fault {
  const char* name;
  RowKernel kernel;
  bool on_N01;  // it shows on rows of N(0, 1)
};
constexpr Fault kFaults[] = {{"a thread's share is lost", lost_thread, true},
                             {"a thread is not rescaled", thread_not_rescaled, true},
                             {"exps in the sum truncated to bf16", truncated_exps, true},
                             {"the sum stored as bf16", sum_as_bf16, true},
                             {"terms 10 nats below a running maximum left out", far_terms_left_out, false}};

constexpr const char* kOrdinaryRows[] = {"normal_1", "normal_3", "normal_10", "gpt_logits"};

class FaultsOfTheSum : public testing::TestWithParam<Dtype> {};

TEST_P(FaultsOfTheSum, DieUndeclaredAtTheLengthsOfAVocabulary) {
  const Dtype t = GetParam();
  for (const std::int64_t V : {4096, 32000, 128256})
    for (const Fault& fault : kFaults) {
      const Variant v = stranger(fault.kernel, "", t, t);
      int refused = 0;
      for (const char* family : kOrdinaryRows) {
        if (!fits(family, t, V)) continue;
        const Record r = check_case(v, rows_of(family, t, V), Op::softmax, 0);
        refused += r.status != Status::pass;
        if (fault.on_N01 && std::string_view(family) == "normal_1") {
          EXPECT_NE(r.status, Status::pass) << fault.name << ", " << family << ", V = " << V
                                            << ": resolution " << r.resolution.value_or(-1);
        }
      }
      // Terms 10 nats below the maximum are too small to show in a 16-bit output.
      EXPECT_TRUE(refused > 0 || (!fault.on_N01 && t != Dtype::f32)) << fault.name << ", V = " << V;
    }
}

TEST_P(FaultsOfTheSum, AreNotSeenInRightKernels) {
  const Dtype t = GetParam();
  for (const RowKernel kernel : {right_block_of_verdict, right_online_block, two_pass, online}) {
    const Variant v = stranger(kernel, "", t, t);
    for (const std::int64_t V : {4096, 32000, 128256})
      for (const char* family : kOrdinaryRows) {
        if (!fits(family, t, V)) continue;
        const Record r = check_case(v, rows_of(family, t, V), Op::softmax, 0);
        EXPECT_EQ(r.status, Status::pass) << family << ", V = " << V << ": " << r.reason;
      }
  }
  const Record r =
      check_case(stranger(right_block_of_verdict, "", t, t), rows_of("normal_1", t, 128256), Op::softmax, 0);
  ASSERT_TRUE(r.max_bound_ratio);
  EXPECT_GE(*r.max_bound_ratio, 0.03);
  for (const CheckResult& c : r.checks) {
    // 16-bit outputs of a right kernel are hardly ever rounded in the other direction.
    if (c.check != Check::element || t != Dtype::f32) continue;
    EXPECT_GE(c.utilisation, 0.03);
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, FaultsOfTheSum, testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16),
                         [](const auto& i) { return std::string(name(i.param)); });

TEST(MeasuredSum, CountsTheAdditionsOnALeafsPath) {
  // Serial: one after another. 256 chains and a tree: V / 256 and 8. Pairwise: log2 V.
  const auto height = [](RowKernel k, std::int64_t V) {
    const MeasuredSum m = measured_sum(stranger(k, "division=ieee"), V);
    EXPECT_GT(m.height, 0) << m.saw;
    return m.height;
  };
  EXPECT_EQ(height(two_pass, 4099), 4098);
  EXPECT_GE(height(right_block_of_verdict, 16384), 64 + 8 - 1);
  EXPECT_LE(height(right_block_of_verdict, 16384), 3 * (64 + 8));
  EXPECT_GE(height(tree, 16384), 7);
  EXPECT_LE(height(tree, 16384), 64);
  EXPECT_LE(height(in_double, 16384), 64);
  // 16-bit outputs show too little of a tree, and the record says so. They do show a chain as long as the
  // row.
  for (const Dtype t : {Dtype::f16, Dtype::bf16}) {
    const MeasuredSum narrow = measured_sum(stranger(right_block_of_verdict, "", t, t), 32000);
    EXPECT_EQ(narrow.height, 0);
    EXPECT_NE(narrow.saw.find("too roughly"), std::string::npos) << narrow.saw;
    EXPECT_GT(measured_sum(stranger(two_pass, "", t, t), 32000).height, 16000);
    EXPECT_GT(measured_sum(stranger(online, "", t, t), 128256).height, 64000);
    EXPECT_EQ(measured_sum(stranger(lost_thread, "", t, t), 128256).height, 0);
  }
}

TEST(Verdict, ABoundThatIsNotFiniteNeverJudges) {
  Tally t;
  EXPECT_TRUE(t.judge(Check::element, 1, 1, INFINITY, INFINITY));
  EXPECT_TRUE(t.judge(Check::element, 1, 1, NAN, NAN));
  EXPECT_EQ(t.at(Check::element).judged, 0);
  EXPECT_EQ(t.failed(), 0);
  EXPECT_EQ(t.unbounded(), 2);
}

}  // namespace
}  // namespace assay
