// SPDX-License-Identifier: Apache-2.0
// Epsilon in the sum, and numerators stored in the outputs' type. Kernels that do this come close to their
// bound and never exceed it. Kernels that do it wrongly, do not declare it, or hide another fault behind it,
// fail.
#include "accuracy/bounds/divisor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using namespace strangers;

constexpr const char* kFamilies[] = {"normal_1",  "normal_10", "constant",      "single_finite",
                                     "long_tail", "ramp_1ulp", "subnormal_out", "shifted_1000"};
constexpr std::int64_t kDivisorLengths[] = {1, 2, 3, 33, 256, 4099};

Record judged_divisors(const Variant& v, const char* family, std::int64_t V, std::int64_t rows = 3) {
  const Case c(*find_family(family), v.dtype, V, rows, 1);
  CheckOptions options;
  options.nearest = false;
  return check_case(v, c, v.op, 0, options);
}

/// The largest error, relative to its bound, in any check of the record.
double utilisation(const Record& r) {
  double most = 0;
  for (const CheckResult& c : r.checks) most = std::max(most, c.utilisation);
  return most;
}

/// Expects a pass on every family and length; returns the largest share of the bound that was used.
double expect_passes(const Variant& v, const std::string& what) {
  double most = 0;
  for (const char* family : kFamilies)
    for (const std::int64_t V : kDivisorLengths) {
      if (!applies(*find_family(family), v.dtype, V)) continue;
      const Record r = judged_divisors(v, family, V);
      EXPECT_TRUE(r.status == Status::pass || r.status == Status::unsupported)
          << what << ", " << family << ", V = " << V << ": " << name(r.status) << " " << r.reason;
      most = std::max(most, utilisation(r));
    }
  EXPECT_LE(most, 1) << what;
  return most;
}

bool fails_somewhere(const Variant& v) {
  for (const char* family : kFamilies)
    for (const std::int64_t V : kDivisorLengths)
      if (applies(*find_family(family), v.dtype, V) && judged_divisors(v, family, V).status == Status::fail)
        return true;
  return false;
}

// Powers of ten such as 1e-6, as an enumeration for template arguments.
enum class Ten { minus_7 = -7, minus_6, minus_5, minus_4, minus_3, minus_2 };
template <Ten power>
float epsilon() {
  return static_cast<float>(std::pow(10.0, static_cast<int>(power)));
}

/// Epsilon is added last, as most authors write it.
template <Ten power>
void added(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d + epsilon<power>();
}
/// The sum begins with epsilon.
template <Ten power>
void begun(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = epsilon<power>();
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
template <Ten power>
void by_reciprocal(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  const float r = 1 / (d + epsilon<power>());
  for (std::int64_t i = 0; i < V; ++i) p[i] *= r;
}
template <Ten power>
void running(const float* x, float* p, std::int64_t V) {
  const auto [m, d] = online_sum(x, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m) / (d + epsilon<power>());
}
template <Ten power>
void without_maximum(const float* x, float* p, std::int64_t V) {
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i]);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d + epsilon<power>();
}

TEST(Epsilon, RightKernelsComeCloseAndStayWithin) {
  EXPECT_GT(expect_passes(stranger(added<Ten::minus_6>, "epsilon=1e-6"), "added"), 0.3);
  const char* sharp = "epsilon=1e-6; algorithm=safe; division=ieee; normalise=recomputed; height=V";
  EXPECT_GT(expect_passes(stranger(added<Ten::minus_6>, sharp), "declared"), 0.5);
  expect_passes(stranger(begun<Ten::minus_5>, "epsilon=1e-5"), "begun");
  expect_passes(stranger(by_reciprocal<Ten::minus_3>, "epsilon=1e-3; division=reciprocal"), "reciprocal");
  expect_passes(stranger(running<Ten::minus_2>, "epsilon=1e-2"), "running");
  expect_passes(stranger(without_maximum<Ten::minus_4>, "epsilon=1e-4; algorithm=naive"), "naive");
  expect_passes(stranger(added<Ten::minus_2>, "epsilon=1e-2", Dtype::f16, Dtype::f16), "f16");
  expect_passes(stranger(added<Ten::minus_3>, "epsilon=1e-3", Dtype::bf16, Dtype::f32), "bf16 to f32");
  // Less than half an ulp of any sum: it vanishes, whether declared or not.
  expect_passes(stranger(two_pass, "epsilon=1e-9"), "vanishing");
}

TEST(Epsilon, IsPartOfTheFunctionAndNotOfItsError) {
  EXPECT_TRUE(fails_somewhere(stranger(added<Ten::minus_6>))) << "nobody declared it";
  EXPECT_TRUE(fails_somewhere(stranger(added<Ten::minus_5>, "epsilon=1e-6"))) << "more than was declared";
  EXPECT_TRUE(fails_somewhere(stranger(added<Ten::minus_7>, "epsilon=1e-6"))) << "less than was declared";
  EXPECT_TRUE(fails_somewhere(stranger(two_pass, "epsilon=1e-3"))) << "declared, and not added";
  // A pass is as sharp as without epsilon.
  const Record r = judged_divisors(stranger(added<Ten::minus_2>, "epsilon=1e-2"), "normal_1", 33);
  EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_LT(r.resolution, 1e-5);
}

template <Ten power>
void loses_the_last(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    p[i] = std::exp(x[i] - m);
    if (i + 1 < V || V == 1) d += p[i];
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d + epsilon<power>();
}
template <Ten power>
void a_little_more(const float* x, float* p, std::int64_t V) {
  added<power>(x, p, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] *= 1.0005f;
}
template <Ten power>
void a_little_less(const float* x, float* p, std::int64_t V) {
  added<power>(x, p, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] *= 0.9995f;
}

TEST(Epsilon, ExcusesNothingElse) {
  for (const RowKernel kernel :
       {loses_the_last<Ten::minus_6>, a_little_more<Ten::minus_6>, a_little_less<Ten::minus_6>})
    EXPECT_EQ(judged_divisors(stranger(kernel, "epsilon=1e-6"), "constant", 256).status, Status::fail);
  for (const RowKernel kernel :
       {loses_the_last<Ten::minus_2>, a_little_more<Ten::minus_2>, a_little_less<Ten::minus_2>})
    EXPECT_EQ(judged_divisors(stranger(kernel, "epsilon=0.01"), "normal_1", 256).status, Status::fail);
}

/// Log-softmax and lse with epsilon in the sum; lse has one value per row.
Variant of_logs(Op op, const char* words, float epsilon) {
  Variant v = stranger(two_pass, words);
  v.op = op;
  v.run = [op, epsilon](const Problem& p, const Buffers& b, const Stream&) {
    std::vector<float> x(static_cast<std::size_t>(p.V));
    for (std::int64_t r = 0; r < p.rows; ++r) {
      for (std::int64_t j = 0; j < p.V; ++j)
        x[static_cast<std::size_t>(j)] = static_cast<float>(
            decode(p.in, load_bits(p.in, static_cast<const std::byte*>(b.logits), r * p.in_pitch + j)));
      const float m = max_of(x.data(), p.V);
      float d = 0;
      for (const float a : x) d += std::exp(a - m);
      const float log_d = std::log(d + epsilon);
      const auto put = [&](std::int64_t j, float y) {
        store_bits(p.out, static_cast<std::byte*>(b.probs), r * p.out_pitch + j,
                   encode(p.out, static_cast<double>(y)));
      };
      if (op == Op::lse) put(0, m + log_d);
      for (std::int64_t j = 0; j < p.V && op == Op::log_softmax; ++j)
        put(j, x[static_cast<std::size_t>(j)] - m - log_d);
    }
  };
  return v;
}

TEST(Epsilon, IsInTheLogarithmToo) {
  for (const Op op : {Op::lse, Op::log_softmax}) {
    expect_passes(of_logs(op, "epsilon=1e-3", 1e-3f), name(op));
    expect_passes(of_logs(op, "epsilon=1e-5; log_form=shifted; algorithm=safe; height=V", 1e-5f), name(op));
    EXPECT_TRUE(fails_somewhere(of_logs(op, "", 1e-3f))) << name(op);
    EXPECT_TRUE(fails_somewhere(of_logs(op, "epsilon=1e-3", 0))) << name(op);
  }
}

TEST(Epsilon, DMayHaveItOrNot) {
  for (const float in_d : {0.0f, 1e-3f, 2e-3f, -1e-3f}) {
    Variant v = stranger(added<Ten::minus_3>, "epsilon=1e-3; normalizer=yes");
    v.run = [run = v.run, in_d](const Problem& p, const Buffers& b, const Stream& s) {
      run(p, b, s);
      for (std::int64_t r = 0; r < p.rows; ++r) {
        std::vector<float> x;
        for (std::int64_t j = 0; j < p.V; ++j)
          x.push_back(static_cast<float>(
              decode(p.in, load_bits(p.in, static_cast<const std::byte*>(b.logits), r * p.in_pitch + j))));
        const float m = max_of(x.data(), p.V);
        float d = 0;
        for (const float a : x) d += std::exp(a - m);
        b.m[r] = m;
        b.d[r] = d + in_d;
      }
    };
    const bool right = in_d == 0 || in_d == 1e-3f;
    for (const std::int64_t V : {1, 33, 256})
      EXPECT_EQ(judged_divisors(v, "long_tail", V).status == Status::pass, right) << in_d << ", V = " << V;
  }
}

/// Exps stored in T between two passes; the sum is taken of the stored ones, or of the original ones.
template <float (*narrow)(float), bool sum_of_stored>
void stored(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    const float e = std::exp(x[i] - m);
    p[i] = narrow(e);
    d += sum_of_stored ? p[i] : e;
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
template <float (*narrow)(float)>
void stored_and_lost(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    p[i] = narrow(std::exp(x[i] - m));
    if (i + 1 < V || V == 1) d += p[i];
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
/// The shift is stored as well, which was not declared.
template <float (*narrow)(float)>
void stored_shift(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = narrow(std::exp(narrow(x[i] - m)));
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}

TEST(StoredNumerators, RightKernelsComeCloseAndStayWithin) {
  for (const Dtype in : {Dtype::f32, Dtype::f16}) {
    EXPECT_GT(expect_passes(stranger(stored<to_f16, false>, "numerators=output", in, Dtype::f16), "f16"),
              0.4);
    EXPECT_GT(expect_passes(stranger(stored<to_f16, true>, "numerators=f16", in, Dtype::f16), "f16, stored"),
              0.4);
  }
  const char* sharp = "numerators=output; algorithm=safe; division=ieee; height=V";
  EXPECT_GT(expect_passes(stranger(stored<to_bf16, false>, sharp, Dtype::bf16, Dtype::bf16), "bf16"), 0.4);
  EXPECT_GT(expect_passes(stranger(stored<to_bf16, true>, sharp, Dtype::f32, Dtype::bf16), "bf16, stored"),
            0.4);
}

TEST(StoredNumerators, AreAskedForAndExcuseNothingElse) {
  EXPECT_TRUE(fails_somewhere(stranger(stored<to_f16, false>, "", Dtype::f32, Dtype::f16)));
  EXPECT_TRUE(fails_somewhere(stranger(stored<to_bf16, true>, "", Dtype::f32, Dtype::bf16)));
  const Variant lost = stranger(stored_and_lost<to_f16>, "numerators=output", Dtype::f32, Dtype::f16);
  EXPECT_EQ(judged_divisors(lost, "normal_1", 33).status, Status::fail);
  EXPECT_EQ(judged_divisors(lost, "constant", 256).status, Status::fail);
  const Variant shift = stranger(stored_shift<to_f16>, "numerators=output", Dtype::f32, Dtype::f16);
  EXPECT_EQ(judged_divisors(shift, "normal_1", 256).status, Status::fail);
  // bf16 where f16 was declared.
  const Variant coarser = stranger(stored<to_bf16, false>, "numerators=output", Dtype::f32, Dtype::f16);
  EXPECT_EQ(judged_divisors(coarser, "normal_1", 33).status, Status::fail);
}

TEST(StoredNumerators, TheFastJudgeHandsOver) {
  Claim c = stranger(two_pass, "height=V; normalise=recomputed").claim;
  EXPECT_EQ(fast_judge_unsupported(c, Dtype::f32, Dtype::f16), "");
  c.epsilon = 1e-6;
  EXPECT_NE(fast_judge_unsupported(c, Dtype::f32, Dtype::f16), "");
  c.epsilon = 0;
  c.numerators = Numerators::output;
  EXPECT_NE(fast_judge_unsupported(c, Dtype::f32, Dtype::f16), "");
}

}  // namespace
}  // namespace assay
