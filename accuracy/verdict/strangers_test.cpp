// SPDX-License-Identifier: Apache-2.0
// An undeclared kernel is judged correctly in both directions. A right one passes on every family without a
// declaration, or with the words that its author would write. A wrong one is refused although nothing was
// claimed.
#include "accuracy/verdict/strangers_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>

#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

using namespace strangers;

/// Inputs and exact results, computed once for all kernels.
const Case& case_of(const Family& f, Dtype t, std::int64_t V, std::int64_t rows) {
  static std::map<std::tuple<std::string, Dtype, std::int64_t>, std::unique_ptr<Case>> made;
  auto& c = made[{f.name, t, V}];
  if (!c) c = std::make_unique<Case>(f, t, V, rows, 1);
  return *c;
}

constexpr std::int64_t kSizes[] = {1, 2, 3, 31, 33, 1000, 4099};

struct Right {
  const char* name;
  RowKernel kernel;
  const char* declaration = "";
  Dtype in = Dtype::f32, out = Dtype::f32;
};
void PrintTo(const Right& r, std::ostream* o) { *o << r.name; }

class RightStrangers : public testing::TestWithParam<Right> {};

TEST_P(RightStrangers, PassOnEveryFamily) {
  const Right& k = GetParam();
  const Variant v = stranger(k.kernel, k.declaration, k.in, k.out);
  int passed = 0;
  for (const Family& f : families())
    for (const std::int64_t V : kSizes) {
      if (!applies(f, v.dtype, V)) continue;
      const Record r = check_case(v, case_of(f, v.dtype, V, 3), Op::softmax, 0);
      if (r.status == Status::unsupported) continue;
      EXPECT_EQ(r.status, Status::pass) << f.name << " V = " << V << ": " << r.reason << "; "
                                        << r.behaves_like << "; " << (r.checks.empty() ? "" : [&] {
                                             for (const CheckResult& c : r.checks)
                                               if (c.failed) return c.detail;
                                             return std::string();
                                           }());
      ++passed;
    }
  EXPECT_GT(passed, 150);
}

constexpr Right kRight[] = {
    {"TwoPass", two_pass},
    {"TwoPassDeclared", two_pass, "algorithm=safe; height=V; division=ieee; normalise=recomputed"},
    {"Kahan", kahan},
    {"Tree", tree},
    {"TreeDeclared", tree,
     "algorithm=safe; height=log2(V); division=ieee; normalise=recomputed; exp=accurate"},
    {"Online", online},
    {"KeptByTiles", kept},
    {"Exp2OfAProductDeclared", exp2_product, "exp=fast"},
    {"Exp2Fma", exp2_fma, "exp=exp2_fma"},
    {"Exp2FmaSharp", exp2_fma, "exp=exp2_fma algorithm=safe normalise=recomputed division=ieee"},
    {"Reciprocal", reciprocal},
    {"InDouble", in_double},
    {"InDoubleAnyShift", in_double, "shift=any normalise=recomputed algorithm=safe"},
    {"Lanes", lanes},
    {"Sentinel", sentinel},
    {"ZeroPolicy", zero_policy, "all_neg_inf=zero"},
    {"Atomics", atomics},
    {"Flushing", ftz, "ftz=yes"},
    {"FlushingSharp", ftz, "ftz=yes; algorithm=safe; normalise=recomputed; division=ieee"},
    {"F16", two_pass, "", Dtype::f16, Dtype::f16},
    {"Bf16", kept, "", Dtype::bf16, Dtype::bf16},
    {"F16ToF32", online, "", Dtype::f16, Dtype::f32},
    {"Bf16ToF32", reciprocal, "", Dtype::bf16, Dtype::f32},
    {"F32ToF16", tree, "", Dtype::f32, Dtype::f16},
    {"F32ToBf16", two_pass, "", Dtype::f32, Dtype::bf16},
    {"F32ToF64", two_pass, "", Dtype::f32, Dtype::f64},
    {"F16FlushingToF16", ftz, "ftz=yes", Dtype::f16, Dtype::f16},
};
INSTANTIATE_TEST_SUITE_P(Kernels, RightStrangers, testing::ValuesIn(kRight),
                         [](const auto& i) { return std::string(i.param.name); });

// The error of f16 arithmetic may be so large that its bound means nothing. Such a kernel is never refused
// for it; the verdict says that it could not be judged.
TEST(Strangers, HalfInsideIsNotRefusedAndHardlyEverJudged) {
  for (const Dtype out : {Dtype::f16, Dtype::f32}) {
    const Variant v = stranger(half_inside, "internals=f16; exp=half; height=V/8+8", Dtype::f16, out);
    int weak = 0;
    for (const Family& f : families())
      for (const std::int64_t V : kSizes) {
        if (!applies(f, v.dtype, V)) continue;
        const Record r = check_case(v, case_of(f, v.dtype, V, 3), Op::softmax, 0);
        EXPECT_NE(r.status, Status::fail) << f.name << " V = " << V << ": " << r.reason;
        weak += r.status == Status::inconclusive && r.reason.starts_with("bound too weak");
      }
    EXPECT_GT(weak, 100);
  }
}

const CheckResult* failed_check(const Record& r, const char* name) {
  for (const CheckResult& c : r.checks)
    if (assay::name(c.check) == std::string_view(name) && c.failed > 0) return &c;
  return nullptr;
}

Record judged_stranger(const Variant& v, const char* family, std::int64_t V, std::int64_t rows = 3) {
  return check_case(v, case_of(*find_family(family), v.dtype, V, rows), v.op, 5);
}

struct Wrong {
  const char* name;
  RowKernel kernel;
  const char* family;
  std::int64_t V;
  const char* declaration = "";
  Dtype t = Dtype::f32;
};
void PrintTo(const Wrong& w, std::ostream* o) { *o << w.name; }

class WrongStrangers : public testing::TestWithParam<Wrong> {};

TEST_P(WrongStrangers, AreRefusedThere) {
  const Wrong& w = GetParam();
  const Record r = judged_stranger(stranger(w.kernel, w.declaration, w.t, w.t), w.family, w.V);
  EXPECT_EQ(r.status, Status::fail) << r.reason;
}

constexpr Wrong kWrong[] = {
    {"OneLanesMaximum", lane_maximum, "lane_maxima", 1000},
    {"OneLanesMaximumLong", lane_maximum, "lane_maxima", 4099},
    {"OneLanesMaximumF16", lane_maximum, "lane_maxima", 1000, "", Dtype::f16},
    {"OneTilesMaximum", tile_maximum, "tile_maxima", 4099},
    {"Zeros", zeros, "normal_1", 33},
    {"ZerosLong", zeros, "gpt_logits", 4099},
    {"ZerosFlushing", zeros, "normal_1", 4099, "ftz=yes"},
    {"ZerosF16", zeros, "normal_1", 4099, "ftz=yes", Dtype::f16},
    {"Uniform", uniform, "normal_1", 1000},
    {"UniformF16", uniform, "normal_1", 1000, "", Dtype::f16},
    {"SumInF16", narrow_sum<to_f16>, "constant", 4099, "internals=f32"},
    {"SumInF16OfF16", narrow_sum<to_f16>, "constant", 4099, "", Dtype::f16},
    {"SumInBf16", narrow_sum<to_bf16>, "normal_1", 1000},
    {"SumInBf16OfBf16", narrow_sum<to_bf16>, "constant", 4099, "", Dtype::bf16},
    {"SkipsTheLast", skips_last, "normal_1", 1000},
    {"SkipsTheLastShort", skips_last, "constant", 33, "", Dtype::f16},
    {"NoMaximum", no_maximum, "shifted_1000", 33},
    {"ProductsApart", exp2_apart, "shifted_1000", 1000},
    {"ProductsApartDeclared", exp2_apart, "shifted_1000", 1000, "exp=exp2_fma"},
    {"ZeroPolicyUndeclared", zero_policy, "all_neg_inf", 33},
    {"NanPolicyAgainstItsWord", two_pass, "all_neg_inf", 33, "all_neg_inf=zero"},
    {"FlushingUndeclared", ftz, "subnormal_out", 1000},
};
INSTANTIATE_TEST_SUITE_P(Kernels, WrongStrangers, testing::ValuesIn(kWrong),
                         [](const auto& i) { return std::string(i.param.name); });

/// If the author of a right kernel declared too little, the record names the missing words.
TEST(Strangers, AFailureNamesTheWordsThatAreMissing) {
  EXPECT_EQ(judged_stranger(stranger(exp2_product), "normal_10", 1000).behaves_like,
            "would pass with exp=fast");
  EXPECT_EQ(judged_stranger(stranger(zero_policy), "all_neg_inf", 33).behaves_like,
            "would pass with all_neg_inf=zero");
  EXPECT_EQ(judged_stranger(stranger(ftz), "subnormal_out", 33).behaves_like, "would pass with ftz=yes");
  EXPECT_EQ(judged_stranger(stranger(no_maximum), "normal_1", 33).status, Status::pass)
      << "nothing to tell it by";
  EXPECT_EQ(judged_stranger(
                stranger(two_pass, "height=log2(V); algorithm=safe; division=ieee; normalise=recomputed"),
                "long_tail", 4099, 1)
                .behaves_like,
            "would pass with height=V");
  const std::string half =
      judged_stranger(stranger(half_inside, "height=V/8+8", Dtype::f16, Dtype::f16), "normal_1", 1000)
          .behaves_like;
  EXPECT_NE(half.find("internals=f16"), std::string::npos) << half;
  EXPECT_EQ(judged_stranger(stranger(zeros), "normal_1", 33).behaves_like, "no class near its claim");
}

/// exp2 of an FMA needs its domain: on rows beyond 1e8 no result is right.
TEST(Strangers, Exp2OfAnFmaIsToldApartFarOut) {
  const Record r = judged_stranger(stranger(exp2_fma), "overflow", 33);
  if (r.status == Status::fail) {
    EXPECT_NE(r.behaves_like.find("exp=exp2_fma"), std::string::npos) << r.behaves_like;
  }
  EXPECT_EQ(judged_stranger(stranger(exp2_fma), "shifted_1000", 1000).status, Status::pass);
}

TEST(Strangers, DeclaredDeterminismIsHeldToAndUndeclaredIsNot) {
  EXPECT_EQ(judged_stranger(stranger(atomics), "normal_10", 4099).status, Status::pass);
  const Record r = judged_stranger(stranger(atomics, "determinism=run_to_run"), "normal_10", 4099);
  EXPECT_NE(failed_check(r, "repeat"), nullptr) << r.reason;
}

// Top-k.

enum class Order { smaller, larger, shuffled };
/// Selects by logit. NaN comes first, last, or where a comparison that is false leaves it.
Variant selector(Op op, Order ties, NanOrder nans, const char* declaration) {
  Variant v = stranger(two_pass, declaration);
  v.op = op;
  v.max_k = 64;
  v.run = [=](const Problem& p, const Buffers& b, const Stream&) {
    static std::mt19937 random(3);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      std::vector<std::int32_t> at(static_cast<std::size_t>(p.V));
      for (std::int32_t i = 0; i < p.V; ++i) at[static_cast<std::size_t>(i)] = i;
      if (ties == Order::larger) std::reverse(at.begin(), at.end());
      if (ties == Order::shuffled) std::shuffle(at.begin(), at.end(), random);
      std::stable_sort(at.begin(), at.end(), [&](std::int32_t i, std::int32_t j) {
        const bool n = std::isnan(x[i]), m = std::isnan(x[j]);
        if (n || m) return nans == NanOrder::first ? n && !m : !n && m;
        return x[i] > x[j];
      });
      if (nans == NanOrder::any) {  // every other slot, then the rest
        std::vector<std::int32_t> no, mixed;
        for (std::int32_t i : at)
          if (std::isnan(x[i])) no.push_back(i);
        std::size_t used = 0;
        for (std::int32_t i : at) {
          if (std::isnan(x[i])) continue;
          mixed.push_back(i);
          if (used < no.size()) mixed.push_back(no[used++]);
        }
        mixed.insert(mixed.end(), no.begin() + static_cast<std::ptrdiff_t>(used), no.end());
        at = mixed;
      }
      std::vector<float> probs(static_cast<std::size_t>(p.V));
      if (p.V > 0) two_pass(x, probs.data(), p.V);
      for (int s = 0; s < p.k; ++s) {
        const bool empty = s >= p.V;
        const std::int32_t i = empty ? -1 : at[static_cast<std::size_t>(s)];
        static_cast<std::int32_t*>(b.indices)[r * p.out_pitch + s] = i;
        static_cast<float*>(b.probs)[r * p.out_pitch + s] = empty ? 0
                                                            : op == Op::topk
                                                                ? x[i]
                                                                : probs[static_cast<std::size_t>(i)];
      }
    }
  };
  return v;
}

int selections_refused(const Variant& v) {
  int refused = 0;
  for (const Family& f : families())
    for (const std::int64_t V : {1, 3, 33, 1000}) {
      if (!applies(f, v.dtype, V)) continue;
      const Record r = judged_stranger(v, f.name, V);
      refused += r.status != Status::pass;
    }
  return refused;
}

TEST(Strangers, TiesAndNanMayStandAnywhereUndeclared) {
  for (const Op op : {Op::topk, Op::softmax_topk})
    for (const Order ties : {Order::smaller, Order::larger, Order::shuffled})
      for (const NanOrder nans : {NanOrder::first, NanOrder::last, NanOrder::any})
        EXPECT_EQ(selections_refused(selector(op, ties, nans, "")), 0)
            << name(op) << " " << static_cast<int>(ties) << " " << name(nans);
}

// A kernel that writes no sum shows it as 1 / (the largest probability). That need not be in the first column
// with the largest logit.
TEST(Strangers, ProbesReadTheTopElementThatTopkReturned) {
  for (const Order ties : {Order::smaller, Order::larger, Order::shuffled}) {
    const char* const words = ties == Order::smaller  ? "ties=smaller_index"
                              : ties == Order::larger ? "ties=larger_index"
                                                      : "";
    const Behaviour b = behaviour_of(selector(Op::softmax_topk, ties, NanOrder::last, words));
    EXPECT_EQ(b.claim.failed, 0) << words << ": " << b.claim.detail;
    EXPECT_NE(b.like.find("sum f32"), std::string::npos) << words << ": " << b.like;
  }
}

TEST(Strangers, DeclaredTiesAndNanOrderAreHeldTo) {
  EXPECT_EQ(selections_refused(selector(Op::topk, Order::larger, NanOrder::last, "ties=larger_index")), 0);
  EXPECT_EQ(selections_refused(
                selector(Op::topk, Order::smaller, NanOrder::first, "ties=smaller_index nan_order=first")),
            0);
  EXPECT_GT(selections_refused(selector(Op::topk, Order::larger, NanOrder::last, "ties=smaller_index")), 10);
  EXPECT_GT(selections_refused(selector(Op::topk, Order::smaller, NanOrder::first, "nan_order=last")), 0);
  EXPECT_GT(selections_refused(selector(Op::topk, Order::shuffled, NanOrder::last, "ties=smaller_index")),
            10);
}

/// The selected element is not the largest. Whatever was declared about ties, an element that is smaller than
/// an unselected one is wrong.
TEST(Strangers, AWrongSelectionIsRefusedUndeclared) {
  Variant v = selector(Op::topk, Order::smaller, NanOrder::last, "");
  const auto right = v.run;
  v.run = [right](const Problem& p, const Buffers& b, const Stream& s) {
    right(p, b, s);
    const float* x = static_cast<const float*>(b.logits);
    std::int32_t& i = static_cast<std::int32_t*>(b.indices)[0];
    std::int32_t least = 0;
    for (std::int32_t j = 1; j < p.V; ++j)
      if (x[j] < x[least]) least = j;
    static_cast<float*>(b.probs)[0] = x[i = least];
  };
  EXPECT_NE(failed_check(judged_stranger(v, "normal_1", 33), "order"), nullptr);
}

// Log-softmax and lse.

Variant logger(Op op, bool absorb, const char* declaration) {
  Variant v = stranger(two_pass, declaration);
  v.op = op;
  v.run = [=](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const float* x = static_cast<const float*>(b.logits) + r * p.in_pitch;
      float* y = static_cast<float*>(b.probs) + r * p.out_pitch;
      if (p.V == 0) continue;
      const float m = max_of(x, p.V);
      float d = 0;
      for (std::int64_t i = 0; i < p.V; ++i) d += std::exp(x[i] - m);
      const float l = std::log(d);
      if (op == Op::lse)
        y[0] = m == -INFINITY && !std::isnan(x[0]) ? -INFINITY : m + l;
      else
        for (std::int64_t i = 0; i < p.V; ++i) y[i] = absorb ? x[i] - (m + l) : (x[i] - m) - l;
    }
  };
  return v;
}

TEST(Strangers, BothFormsOfLogSoftmaxPassUndeclared) {
  for (const bool absorb : {false, true})
    for (const Family& f : families()) {
      if (f.kind == FamilyKind::special || !applies(f, Dtype::f32, 1000)) continue;
      const Record r = judged_stranger(logger(Op::log_softmax, absorb, ""), f.name, 1000);
      EXPECT_EQ(r.status, Status::pass) << f.name << (absorb ? " absorb: " : " shifted: ") << r.reason;
    }
  // If the sharper form is declared, it is enforced.
  EXPECT_EQ(judged_stranger(logger(Op::log_softmax, true, "log_form=shifted"), "shifted_1000", 33).status,
            Status::fail);
}

TEST(Strangers, LseIsJudged) {
  for (const char* family : {"normal_1", "shifted_1000", "constant", "gpt_logits"})
    EXPECT_EQ(judged_stranger(logger(Op::lse, false, ""), family, 1000).status, Status::pass) << family;
}

}  // namespace
}  // namespace assay
