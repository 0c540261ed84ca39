// SPDX-License-Identifier: Apache-2.0
// Kernels that declare nothing, and what is seen while their sum is measured. A fault counts against the
// kernel wherever it shows. Another algorithm for many rows is no fault. A sum that no order of additions
// explains is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using namespace strangers;

constexpr std::int64_t kThreads = 256;

/// The shares of 256 threads, merged by a tree; `stored` is the sum as it is used.
template <class Stored>
void block(const float* x, float* p, std::int64_t V, Stored stored) {
  const float m = max_of(x, V);
  float sums[kThreads] = {};
  for (std::int64_t i = 0; i < V; ++i) sums[i % kThreads] += std::exp(x[i] - m);
  const float d = stored(pairwise(sums, kThreads));
  for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m) / d;
}
void right_block(const float* x, float* p, std::int64_t V) {
  block(x, p, V, [](float d) { return d; });
}
template <Dtype T>
void coarse_sum(const float* x, float* p, std::int64_t V) {
  block(x, p, V, [](float d) { return static_cast<float>(round_to(T, d)); });
}

Record judged(const Variant& v, const char* family, std::int64_t V, std::int64_t rows) {
  const Case c(*find_family(family), v.dtype, V, rows, 1);
  return check_case(v, c, v.op, 0);
}

/// A serial sum of such rows is off by far more than 32 additions, because every term is rounded in the same
/// direction.
Record judged_drift(const Variant& v, std::int64_t V, std::int64_t rows) {
  Tensor logits(v.dtype, rows, V);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < V; ++j) logits.set(r, j, j == 0 ? 0 : -0.3);
  return check_case(v, Case("drift", std::move(logits)), v.op, 0);
}

TEST(Undeclared, AFaultOfAMeasurementIsTheKernels) {
  Variant v = stranger(two_pass);
  // Of the launches here, only a measurement has this many rows.
  v.run = [run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.rows >= 12 && p.rows <= 22) throw std::runtime_error("no plan for so many rows");
    run(p, b, s);
  };
  const Record r = judged_drift(v, 32000, 2);
  EXPECT_EQ(r.status, Status::fail) << r.reason;
  const CheckResult* const launch = find_check(r, Check::launch);
  ASSERT_NE(launch, nullptr);
  EXPECT_NE(launch->detail.find("to measure the sum: the launcher threw: no plan"), std::string::npos)
      << launch->detail;
}

TEST(Undeclared, AnotherSumForManyRowsIsMeasuredThere) {
  Variant v = stranger(right_block);
  const Variant serial = stranger(two_pass);
  v.run = [few = v.run, many = serial.run](const Problem& p, const Buffers& b, const Stream& s) {
    (p.rows >= 128 ? many : few)(p, b, s);
  };
  EXPECT_LT(measured_sum(v, 4099).height, 200);
  EXPECT_GT(measured_sum(v, 4099, 200).height, 4000);
  const Record r = judged_drift(v, 32000, 130);
  EXPECT_EQ(r.status, Status::pass) << r.reason;
  ASSERT_FALSE(r.evidence.empty());
  EXPECT_NE(r.evidence[0].find("height 31999"), std::string::npos) << r.evidence[0];
}

TEST(Undeclared, ASumOfTooFewBitsIsNoLongChain) {
  for (const RowKernel kernel : {coarse_sum<Dtype::f16>, coarse_sum<Dtype::bf16>})
    for (const std::int64_t V : {4099, 32000, 128256}) {
      const Record r = judged(stranger(kernel), "normal_1", V, 1);
      EXPECT_EQ(r.status, Status::fail) << V << ": " << r.reason;
    }
  EXPECT_NE(measured_sum(stranger(coarse_sum<Dtype::f16>), 32000).refuted.find("no order of additions"),
            std::string::npos);
  // Right kernels of every kind are not refuted, whatever their exps and quotients are.
  for (const RowKernel kernel : {right_block, two_pass, online, tree, kahan, kept, in_double})
    for (const Dtype t : {Dtype::f32, Dtype::bf16})
      for (const std::int64_t V : {300, 4099, 32000})
        EXPECT_EQ(measured_sum(stranger(kernel, "", t, Dtype::f32), V).refuted, "") << V;
}

TEST(Undeclared, RowsThatADeclarationAsksForAreLaunched) {
  Variant v = stranger(right_block);
  v.limits.min_rows = 64;
  EXPECT_GT(measured_sum(v, 4099).height, 0);
}

TEST(Undeclared, TheFastJudgeLeavesItsSumToTheWholeOne) {
  EXPECT_EQ(fast_judge_unsupported(stranger(two_pass, "height=V; normalise=recomputed").claim, Dtype::f32,
                                   Dtype::f32),
            "");
  EXPECT_NE(fast_judge_unsupported(stranger(two_pass, "normalise=recomputed").claim, Dtype::f32, Dtype::f32),
            "");
}

}  // namespace
}  // namespace assay
