// SPDX-License-Identifier: Apache-2.0
// What the probes say. For a false claim: what the kernel does instead. For a too modest claim: that the
// kernel is sharper. For a failing record: the class as which it would pass. For registered kernels: never
// that the claim is false.
#include "accuracy/verdict/behaves_like.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"
#include "accuracy/probes/measured_sum.hpp"
#include "accuracy/probes/probes.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

const Mutant& mutant(std::string_view fault) {
  if (const Mutant* m = find_mutant_of(fault)) return *m;
  throw std::out_of_range(std::string(fault));
}

struct Expected {
  const char* fault;
  const char* like;    // part of behaves_like
  const char* detail;  // part of the claim check's detail; empty: the claim holds
};

class Liars : public testing::TestWithParam<Expected> {};

TEST_P(Liars, AreToldByWhatTheyDo) {
  const Expected& e = GetParam();
  const Behaviour b = behaviour_of(mutant(e.fault).variant);
  EXPECT_NE(b.like.find(e.like), std::string::npos) << b.like;
  EXPECT_EQ(b.claim.failed > 0, *e.detail != 0) << b.claim.detail;
  EXPECT_NE(b.claim.detail.find(e.detail), std::string::npos) << b.claim.detail;
  // A claim that holds but is too modest is named: the kernel is sharper.
  if (!*e.detail)
    EXPECT_TRUE(std::ranges::any_of(b.probes, [&](const ProbeResult& p) {
      return p.sharper && p.trait == e.like;
    })) << b.like;
  else
    EXPECT_TRUE(std::ranges::none_of(b.probes, [](const ProbeResult& p) { return p.sharper; }));
}

constexpr Expected kExpected[] = {
    {"claims_accurate_fast_in_sum", "exp accurate, exp in the sum by a rounded product", "sum_exp: "},
    {"claims_accurate_fast_in_sum_f16", "exp in the sum by a rounded product", "sum_exp: "},
    {"claims_accurate_fast_in_sum_bf16", "exp in the sum by a rounded product", "sum_exp: "},
    {"claims_accurate_fast_in_merge", "exp accurate, exp in the sum by a rounded product", "sum_exp: "},
    {"claims_accurate_fast_in_outputs", "exp by a rounded product, exp in the sum accurate",
     "numerator_exp: "},
    {"claims_ieee_reciprocal", "division reciprocal", "division: "},
    {"claims_ieee_rough_reciprocal", "division approximate", "division: "},
    {"claims_ieee_fdividef", "shift none", "division: "},
    {"claims_tree_serial", "serial sum", "height: "},
    {"claims_tree_serial_f16", "serial sum", "height: "},
    {"claims_f32_half_sum", "sum", "sum_exp: "},
    {"claims_f32_half_sum_f16", "sum", "sum_exp: "},
    {"claims_recomputed_kept", "numerators kept", "numerators: "},
    {"claims_subtract_exp2_product", "shift rounded with the logit", "sum_exp: "},
    {"claims_fast_is_accurate", "exp accurate", ""},
    {"claims_serial_is_tree", "sum in chains of 128 at V = 16385", ""},
    {"claims_kept_is_recomputed", "numerators recomputed", ""},
};
INSTANTIATE_TEST_SUITE_P(Claims, Liars, testing::ValuesIn(kExpected),
                         [](const auto& i) { return std::string(i.param.fault); });

TEST(BehavesLike, NoRegisteredClaimIsRefuted) {
  int probed = 0;
  for (const Variant& v : registry()) {
    if (!unavailable_reason(v.backend).empty() || !not_plain_rows(v, v.op).empty()) continue;
    const Record r = probe_record(v, behaviour_of(v));
    EXPECT_EQ(r.status, Status::pass)
        << r.key << ": " << r.reason << (r.checks.empty() ? "" : r.checks.back().detail);
    EXPECT_FALSE(r.behaves_like.empty()) << r.key;
    ++probed;
  }
  EXPECT_GT(probed, 30);
}

/// A sum kept in a wider format than claimed is better than claimed, not a different kernel.
TEST(BehavesLike, AWiderSumIsSharperNotALie) {
  const Variant& v = *find_variant("three_kernel_safe_thread/f16@host");
  const Terms narrow = terms_of(v.claim, v.backend, v.out(), 2);
  int between = 0;
  for (const double t : {-1.5, -3.25, -6.75}) {
    const Enclosure allowed = probe::one_plus_exp(narrow, t);
    const double exact = 1 + std::exp(t), rounded = round_to(Dtype::f16, exact);
    EXPECT_TRUE(allowed.lo <= exact && exact <= allowed.hi) << t;
    EXPECT_TRUE(allowed.lo <= rounded && rounded <= allowed.hi) << t;
    EXPECT_LT(allowed.hi - allowed.lo, 4 * narrow.u) << t;
    between += exact != rounded;
  }
  EXPECT_GT(between, 0);
  const Record r = probe_record(v, behaviour_of(v));
  EXPECT_NE(r.behaves_like.find("sum f32"), std::string::npos) << r.behaves_like;
}

/// Everything in double and rounded once; or float from the numerator on, with a product by the reciprocal.
template <bool by_reciprocal>
void wide_sum(const float* x, float* p, std::int64_t V) {
  const float m = strangers::max_of(x, V);
  double d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += std::exp(static_cast<double>(x[i]) - static_cast<double>(m));
  for (std::int64_t i = 0; i < V; ++i) {
    const double e = std::exp(static_cast<double>(x[i]) - static_cast<double>(m));
    p[i] = by_reciprocal ? static_cast<float>(e) * (1 / static_cast<float>(d)) : static_cast<float>(e / d);
  }
}

/// A quotient of numbers wider than f32, rounded once, is correctly rounded too. No single f32 numerator
/// explains it, and none needs to.
TEST(BehavesLike, DivisionOfWiderNumeratorsIsNoLie) {
  const char* const declared = "algorithm=safe; division=ieee; normalise=recomputed; height=V";
  const Behaviour wide = behaviour_of(strangers::stranger(wide_sum<false>, declared));
  EXPECT_EQ(wide.claim.failed, 0) << wide.claim.detail;
  EXPECT_NE(wide.like.find("division ieee"), std::string::npos) << wide.like;
  const Behaviour product = behaviour_of(strangers::stranger(wide_sum<true>, declared));
  EXPECT_GT(product.claim.failed, 0) << product.like;
  EXPECT_TRUE(product.claim.detail.starts_with("division: ")) << product.claim.detail;
}

/// Refutations that are not the first one of their kernel.
TEST(BehavesLike, EveryProbeThatCanSeeAFalseClaimRefutesIt) {
  const std::pair<const char*, const char*> seen[] = {{"claims_ieee_fdividef", "far_divisor: "},
                                                      {"claims_subtract_exp2_product", "shift: "},
                                                      {"claims_accurate_fast_in_merge", "sum_exp: "}};
  for (const auto& [fault, probe] : seen) {
    const Behaviour b = behaviour_of(mutant(fault).variant);
    const auto e = std::find_if(b.evidence.begin(), b.evidence.end(),
                                [p = probe](const std::string& s) { return s.starts_with(p); });
    ASSERT_NE(e, b.evidence.end());
    EXPECT_NE(e->find("the claim is refuted"), std::string::npos) << *e;
  }
}

/// The reason for probes: ordinary rows do not show these false claims.
TEST(BehavesLike, BoundsAloneMissTheseClaims) {
  for (const char* fault :
       {"claims_accurate_fast_in_sum", "claims_accurate_fast_in_merge", "claims_ieee_reciprocal"}) {
    const Mutant& m = mutant(fault);
    for (const char* family : {"normal_1", "gpt_logits"}) {
      const Case c(*find_family(family), m.variant.dtype, 1000, 2, 1);
      EXPECT_EQ(check_case(m.variant, c, m.variant.op, 0).status, Status::pass) << fault << " on " << family;
    }
  }
}

/// CUDA's expf may have 5 u, five times the host's error. Rows that separate __expf from it are rare, and
/// must exist.
TEST(BehavesLike, RowsTellTheExpsApartUnderCudasBoundsToo) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const Terms sharp = terms_of(Claim{}, Backend::cuda, dtype, 2);
    const std::vector<probe::Pair> pairs =
        probe::separating_pairs(dtype, sharp, true, 4096, probe::Shows::sum);
    EXPECT_GE(pairs.size(), 16u) << name(dtype);
    for (const probe::Pair& p : pairs) {
      const Enclosure allowed = probe::one_plus_exp(sharp, p.t());
      const auto fast = static_cast<double>(static_cast<float>(1 + probe::fast_exp_ideal(p.t())));
      EXPECT_EQ(allowed.lo, allowed.hi);
      EXPECT_NE(fast, allowed.lo) << p.t();
    }
  }
  for (const Backend backend : {Backend::host, Backend::cuda}) {
    const Terms sharp = terms_of(Claim{}, backend, Dtype::f32, 2);
    const std::vector<probe::Pair> pairs =
        probe::separating_pairs(Dtype::f32, sharp, true, 4096, probe::Shows::quotient);
    // With 5 u few are left, and one is enough.
    EXPECT_GE(pairs.size(), backend == Backend::host ? 8u : 1u) << name(backend);
    for (const probe::Pair& p : pairs) {
      const Enclosure allowed = probe::one_over_one_plus_exp(sharp, p.t());
      EXPECT_EQ(allowed.lo, allowed.hi);
      const double d = 1 + probe::fast_exp_ideal(p.t());
      EXPECT_NE(static_cast<float>(1 / d), static_cast<float>(allowed.lo)) << p.t();
      EXPECT_NE(1 / static_cast<float>(d), static_cast<float>(allowed.lo)) << p.t();
    }
  }
}

/// 2^fl(x L), as __expf computes it, in the sum or in the outputs.
float fast(float x) { return std::exp2(x * 0x1.715476p+0f); }
enum class Of { none, sum, sum_wide, sum_of_long, product_of_long };
template <Of of>
void only_outputs(const float* x, float* p, std::int64_t V) {
  const float m = strangers::max_of(x, V);
  std::conditional_t<of == Of::sum_wide, double, float> d = 0;
  for (std::int64_t i = 0; i < V; ++i)
    d += of == Of::sum || (of == Of::sum_of_long && V > 10000) ? fast(x[i] - m) : std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i)
    p[i] = of == Of::product_of_long && V > 10000 ? std::exp(x[i] - m) * static_cast<float>(1 / d)
                                                  : static_cast<float>(std::exp(x[i] - m) / d);
}

/// What a kernel that writes no sum shows of it, and what it does only with long rows.
TEST(BehavesLike, OutputsAloneShowTheSum) {
  const char* const declared = "algorithm=safe; exp=accurate; division=ieee; normalise=recomputed; height=V";
  const auto seen = [&](strangers::RowKernel k) {
    return behaviour_of(strangers::stranger(k, declared)).claim;
  };
  EXPECT_EQ(seen(only_outputs<Of::none>).detail, "");
  EXPECT_EQ(seen(only_outputs<Of::sum_wide>).detail, "");
  const CheckResult sum = seen(only_outputs<Of::sum>), sum_of_long = seen(only_outputs<Of::sum_of_long>),
                    product = seen(only_outputs<Of::product_of_long>);
  EXPECT_TRUE(sum.detail.starts_with("sum_exp: the row (")) << sum.detail;
  EXPECT_TRUE(sum_of_long.detail.starts_with("sum_exp: the row (")) << sum_of_long.detail;
  EXPECT_NE(sum_of_long.detail.find("16389 columns apart"), std::string::npos) << sum_of_long.detail;
  EXPECT_TRUE(product.detail.starts_with("division: in rows of 16390: ")) << product.detail;
}

TEST(BehavesLike, AFailedRecordNamesTheNearestClass) {
  // A fast kernel that claims to be accurate, and a kernel that no class describes.
  Variant fast = *find_variant("online_block_fast/f32@host");
  fast.claim.exp = Exp::accurate;
  const Case wide(*find_family("uniform_80"), Dtype::f32, 1000, 2, 1);
  const Record liar = check_case(fast, wide, fast.op, 0);
  EXPECT_EQ(liar.status, Status::fail);
  EXPECT_EQ(liar.behaves_like, "would pass with exp=fast") << liar.reason;
  const Mutant& zero = mutant("all_zero");
  const Case c(*find_family(zero.expect.family), zero.variant.dtype, zero.expect.V, 1, 1);
  EXPECT_EQ(check_case(zero.variant, c, zero.variant.op, 0).behaves_like, "no class near its claim");
}

// If the wrong rows are outside a class's domain, the class does not explain them.
TEST(NearestClass, IsOfferedOnlyWhereItExplainsTheRowsThatAreWrong) {
  const Variant& v = *find_variant("safe_block/f32@host");
  const auto words = [&](double logit, double output) {
    Tensor logits = make_input(*find_family("normal_1"), Dtype::f32, 33, 2, 1);
    for (std::int64_t j = 0; j < 33; ++j) logits.set(1, j, logit);
    const Case c("two rows", std::move(logits));
    std::vector<double> values;
    for (std::int64_t j = 0; j < 33; ++j) values.push_back(toxic::exact(c, 0, static_cast<std::size_t>(j)));
    values.insert(values.end(), 33, output);
    return nearest_class(v, c, v.op, toxic::MadeOutputs(v, 2, 33, values)).words;
  };
  EXPECT_EQ(words(1e20, NAN).find("would pass"), std::string::npos) << words(1e20, NAN);
  EXPECT_EQ(words(-1e20, 0).find("would pass"), std::string::npos) << words(-1e20, 0);
  EXPECT_EQ(words(-INFINITY, 1.0 / 33).find("would pass"), std::string::npos) << words(-INFINITY, 1.0 / 33);
  EXPECT_EQ(words(-INFINITY, 0), "would pass with all_neg_inf=zero");
}

// Kernels that declare nothing, and what is seen while their sum is measured. A fault counts against the
// kernel wherever it shows. Another algorithm for many rows is no fault. A sum that no order of additions
// explains is refused.

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

Record judged_rows(const Variant& v, const char* family, std::int64_t V, std::int64_t rows) {
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

TEST(Undeclared, ARefusedMeasurementSaysNothingOfTheCase) {
  Variant v = stranger(two_pass);
  // Of the launches here, only a measurement has this many rows.
  v.run = [run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.rows >= 12 && p.rows <= 22) throw std::runtime_error("no plan for so many rows");
    run(p, b, s);
  };
  const Record r = judged_drift(v, 32000, 2);
  EXPECT_NE(r.status, Status::fail) << r.reason;
  const CheckResult* const launch = find_check(r, Check::launch);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->failed, 0) << launch->detail;
  std::string said = r.reason;
  for (const std::string& one : r.evidence) said += "\n" + one;
  EXPECT_NE(said.find("to measure the sum: the launcher threw: no plan"), std::string::npos) << said;
}

/// It took the case, and refuses a launch of the same shape that would show its sum.
TEST(Undeclared, WhoRefusesOnlyTheRowsOfAMeasurementFails) {
  Variant v = stranger(two_pass);
  v.run = [run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    const auto* x = static_cast<const float*>(b.logits);
    if (p.V > 2 && x[1] < -10 && x[1] == x[2]) throw std::runtime_error("not these");
    run(p, b, s);
  };
  for (const std::int64_t rows : {2, 64}) {
    const Record r = judged_drift(v, 32000, rows);
    EXPECT_EQ(r.status == Status::fail, rows == 64) << rows << ": " << r.reason;
  }
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
      const Record r = judged_rows(stranger(kernel), "normal_1", V, 1);
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
