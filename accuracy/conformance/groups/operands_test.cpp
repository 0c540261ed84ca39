// SPDX-License-Identifier: Apache-2.0
// The group `operands`. Kernels that scale, mask, cut and bias their logits correctly pass, however they
// round. A kernel that does one of these wrongly fails here, and in no other group.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "accuracy/case/operand_values.hpp"
#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay::conformance {
namespace {

/// What a serial kernel computes from one element, and whether it leaves the element out.
struct Call {
  const Problem& p;
  const Buffers& b;
  float x(std::int64_t r, std::int64_t j) const {
    return static_cast<const float*>(b.logits)[r * p.in_pitch + j];
  }
  float bias(std::int64_t r, std::int64_t j) const {
    return static_cast<const float*>(b.bias)[r * p.in_pitch + j];
  }
  bool keep(std::int64_t r, std::int64_t j) const {
    return static_cast<const unsigned char*>(b.mask)[r * p.in_pitch + j] != 0;
  }
  std::int64_t length(std::int64_t r) const { return static_cast<const int*>(b.lengths)[r]; }
  float temperature(std::int64_t r) const { return b.temperatures[r]; }
};
using Logit = std::function<float(const Call&, std::int64_t row, std::int64_t column)>;

Variant serial(std::uint32_t parts, Logit logit) {
  return strangers::here(parts, [logit](const Problem& p, const Buffers& b, const Stream&) {
    const Call call{p, b};
    for (std::int64_t r = 0; r < p.rows; ++r) {
      float* const y = static_cast<float*>(b.probs) + r * p.out_pitch;
      float m = -INFINITY, d = 0;
      for (std::int64_t j = 0; j < p.V; ++j) m = std::fmax(m, logit(call, r, j));
      for (std::int64_t j = 0; j < p.V; ++j) d += y[j] = std::exp(logit(call, r, j) - m);
      for (std::int64_t j = 0; j < p.V; ++j) y[j] /= d;
    }
  });
}

ConformanceResult check_operands(const Variant& v, std::vector<std::string> only = {"operands"}) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = std::move(only);
  return run_conformance([&] { return v; }, o);
}
std::int64_t failed_operands(const ConformanceResult& r) {
  std::int64_t n = 0;
  for (const Record& one : r.records) n += one.status == Status::fail;
  return n;
}
std::string reason_of_first_failure(const ConformanceResult& r) {
  for (const Record& one : r.records)
    if (one.status == Status::fail) return one.reproduce + ": " + one.reason;
  return {};
}

namespace op = operand;
constexpr float kOut = -INFINITY;

TEST(Operands, RightKernelsPassHoweverTheyRound) {
  const std::pair<const char*, Variant> all[] = {
      {"product, then sum", serial(op::scale | op::bias,
                                   [](const Call& c, std::int64_t r, std::int64_t j) {
                                     volatile float scaled = c.p.scale * c.x(r, j);
                                     return scaled + c.bias(r, j);
                                   })},
      {"one fma", serial(op::scale | op::bias,
                         [](const Call& c, std::int64_t r, std::int64_t j) {
                           return std::fmaf(c.p.scale, c.x(r, j), c.bias(r, j));
                         })},
      {"a reciprocal of the temperature", serial(op::temperatures,
                                                 [](const Call& c, std::int64_t r, std::int64_t j) {
                                                   volatile float by = 1 / c.temperature(r);
                                                   return c.x(r, j) * by;
                                                 })},
      {"mask and length", serial(op::mask_keep | op::lengths,
                                 [](const Call& c, std::int64_t r, std::int64_t j) {
                                   return j < c.length(r) && c.keep(r, j) ? c.x(r, j) : kOut;
                                 })},
      {"dropped, as -10000",
       serial(op::mask_drop, [](const Call& c, std::int64_t r,
                                std::int64_t j) { return c.keep(r, j) ? -10000.0f : c.x(r, j); })},
      {"a bias of one row", serial(op::bias_row, [](const Call& c, std::int64_t r, std::int64_t j) {
         return c.x(r, j) + c.bias(0, j);
       })}};
  for (const auto& [what, v] : all) {
    const ConformanceResult r = check_operands(v);
    EXPECT_EQ(failed_operands(r), 0) << what << ": " << reason_of_first_failure(r);
    EXPECT_GT(r.executed, 100) << what;
    for (const Record& one : r.records) EXPECT_EQ(one.status, Status::pass) << what << ": " << one.reason;
  }
}

TEST(Operands, WrongOnesFailThereAndNowhereElse) {
  const std::pair<const char*, Variant> all[] = {
      {"the scale is left out",
       serial(op::scale, [](const Call& c, std::int64_t r, std::int64_t j) { return c.x(r, j); })},
      {"0.1 % too large a scale", serial(op::scale,
                                         [](const Call& c, std::int64_t r, std::int64_t j) {
                                           return c.p.scale == 1 ? c.x(r, j) : c.p.scale * 1.001f * c.x(r, j);
                                         })},
      {"the last column is never left out", serial(op::mask_keep,
                                                   [](const Call& c, std::int64_t r, std::int64_t j) {
                                                     return c.keep(r, j) || j + 1 == c.p.V ? c.x(r, j) : kOut;
                                                   })},
      {"every row has the mask of the first",
       serial(op::mask_keep,
              [](const Call& c, std::int64_t r, std::int64_t j) { return c.keep(0, j) ? c.x(r, j) : kOut; })},
      {"one element too many",
       serial(op::lengths, [](const Call& c, std::int64_t r,
                              std::int64_t j) { return j <= c.length(r) ? c.x(r, j) : kOut; })},
      {"the length of the row before", serial(op::lengths,
                                              [](const Call& c, std::int64_t r, std::int64_t j) {
                                                return j < c.length(r > 0 ? r - 1 : 0) ? c.x(r, j) : kOut;
                                              })},
      {"the bias is scaled as well",
       serial(op::scale | op::bias, [](const Call& c, std::int64_t r,
                                       std::int64_t j) { return c.p.scale * (c.x(r, j) + c.bias(r, j)); })},
      {"the temperature of the first row",
       serial(op::temperatures,
              [](const Call& c, std::int64_t r, std::int64_t j) { return c.x(r, j) / c.temperature(0); })}};
  for (const auto& [what, v] : all) {
    EXPECT_GT(failed_operands(check_operands(v)), 10) << what;
    EXPECT_EQ(failed_operands(check_operands(v, {"shapes"})), 0) << what;
  }
}

/// The rows of a mask and of a bias lie as far apart as those of the logits.
TEST(Operands, ThePitchIsThatOfTheLogits) {
  const auto mask_at = [](std::int64_t (*stride)(const Problem&)) {
    return serial(op::mask_keep, [stride](const Call& c, std::int64_t r, std::int64_t j) {
      return static_cast<const unsigned char*>(c.b.mask)[r * stride(c.p) + j] ? c.x(r, j) : kOut;
    });
  };
  const auto bias_at = [](std::int64_t (*stride)(const Problem&)) {
    return serial(op::bias, [stride](const Call& c, std::int64_t r, std::int64_t j) {
      return c.x(r, j) + static_cast<const float*>(c.b.bias)[r * stride(c.p) + j];
    });
  };
  const auto logits = [](const Problem& p) { return p.in_pitch; };
  const auto outputs = [](const Problem& p) { return p.out_pitch; };
  const auto V = [](const Problem& p) { return p.V; };
  EXPECT_EQ(failed_operands(check_operands(mask_at(logits))), 0);
  EXPECT_EQ(failed_operands(check_operands(bias_at(logits))), 0);
  for (const Variant& v : {mask_at(V), mask_at(outputs), bias_at(V), bias_at(outputs)}) {
    const ConformanceResult r = check_operands(v);
    EXPECT_GT(failed_operands(r), 4);
    for (const Record& one : r.records)
      EXPECT_TRUE(one.status != Status::fail || one.setup.kind() == SetupKind::pitch_operands) << one.reason;
  }
  // A kernel for dense rows has no such cases.
  Variant dense = mask_at(V);
  dense.limits.dense = true;
  for (const Record& one : check_operands(dense).records) EXPECT_EQ(one.status, Status::pass) << one.reason;
}

/// A persistent block reads the operand of its first row, and uses it for its later rows too.
TEST(Operands, EveryRowOfManyHasItsOwn) {
  constexpr std::int64_t kBlocks = 264;
  const std::pair<const char*, Variant> all[] = {
      {"mask",
       serial(op::mask_keep, [](const Call& c, std::int64_t r,
                                std::int64_t j) { return c.keep(r % kBlocks, j) ? c.x(r, j) : kOut; })},
      {"bias", serial(op::bias, [](const Call& c, std::int64_t r,
                                   std::int64_t j) { return c.x(r, j) + c.bias(r % kBlocks, j); })},
      {"length",
       serial(op::lengths, [](const Call& c, std::int64_t r,
                              std::int64_t j) { return j < c.length(r % kBlocks) ? c.x(r, j) : kOut; })},
      {"temperature", serial(op::temperatures, [](const Call& c, std::int64_t r, std::int64_t j) {
         return c.x(r, j) / c.temperature(r % kBlocks);
       })}};
  for (const auto& [what, v] : all) {
    const ConformanceResult r = check_operands(v);
    EXPECT_GT(failed_operands(r), 3) << what;
    for (const Record& one : r.records) EXPECT_TRUE(one.status != Status::fail || one.rows > kBlocks) << what;
  }
}

/// A buffer for the first 65,536 columns of the bias; later columns of longer rows get no bias.
TEST(Operands, LongRowsHaveThemToTheEnd) {
  const ConformanceResult r =
      check_operands(serial(op::bias_row, [](const Call& c, std::int64_t row, std::int64_t j) {
        return j < 65536 ? c.x(row, j) + c.bias(0, j) : c.x(row, j);
      }));
  EXPECT_GT(failed_operands(r), 0);
}

/// An online softmax computes exp(-inf - -inf) there.
TEST(Operands, ABiasLeavesOutTheStartOfSomeRows) {
  Operands o;
  o.parts = op::bias;
  std::int64_t starts = 0, ends = 0;
  for (const std::int64_t V : {1, 2, 33, 1000}) {
    const OperandValues v = drawn_operands(o, 5, V, 1, OperandDraw::long_tails);
    for (std::int64_t r = 0; r < 5; ++r) {
      std::int64_t left = 0;
      for (std::int64_t j = 0; j < V; ++j) left += std::isfinite(v.bias.at(r, j));
      EXPECT_GT(left, 0) << V;
      starts += std::isinf(v.bias.at(r, 0)), ends += std::isinf(v.bias.at(r, V - 1));
    }
  }
  EXPECT_GT(starts, 2);
  EXPECT_GT(ends, 2);
}

TEST(Operands, AWriteIntoAMaskIsSeen) {
  Variant v = serial(op::mask_keep, [](const Call& c, std::int64_t r, std::int64_t j) {
    return c.keep(r, j) ? c.x(r, j) : kOut;
  });
  v.run = [run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    run(p, b, s);
    if (p.rows > 0 && p.V > 0) static_cast<unsigned char*>(const_cast<void*>(b.mask))[0] ^= 1;
  };
  const ConformanceResult r = check_operands(v);
  ASSERT_GT(failed_operands(r), 0);
  bool named = false;
  for (const Record& one : r.records)
    for (const CheckResult& c : one.checks) named = named || (c.failed > 0 && c.detail == "the mask changed");
  EXPECT_TRUE(named);
}

TEST(Operands, TheReferenceVariantPasses) {
  for (const char* key : {"masked_block/f32@host", "masked_block/f16@host", "masked_block/bf16@host_fma"}) {
    const Variant* v = find_variant(key);
    ASSERT_NE(v, nullptr) << key;
    const ConformanceResult r = check_operands(*v, {"operands", "layout", "shapes"});
    EXPECT_EQ(failed_operands(r), 0) << key << ": " << reason_of_first_failure(r);
    EXPECT_GT(r.executed, 300) << key;
  }
}

// The declared rounding allows no difference: a kernel that rounds differently is refused where its results
// differ.
TEST(Operands, ADeclaredRoundingIsHeld) {
  Variant v = serial(op::scale | op::bias, [](const Call& c, std::int64_t r, std::int64_t j) {
    return std::fmaf(c.p.scale, c.x(r, j), c.bias(r, j));
  });
  v.claim.logits = LogitRounding::fma;
  EXPECT_EQ(failed_operands(check_operands(v)), 0);
  const Tensor x = make_rows("normal_3", Dtype::f32, 1000, 2, 1);
  const OperandValues values = drawn_operands(v.operands, 2, 1000, 1, OperandDraw::ordinary);
  const EffectiveLogits fma = effective_logits(x, values, LogitRounding::fma);
  const EffectiveLogits each = effective_logits(x, values, LogitRounding::each);
  const EffectiveLogits any = effective_logits(x, values, LogitRounding::any);
  std::int64_t differ = 0;
  for (std::int64_t j = 0; j < 1000; ++j) {
    const double apart = std::fabs(fma.z.at(0, j) - each.z.at(0, j));
    differ += apart > 0;
    EXPECT_LE(apart, any.slack[static_cast<std::size_t>(j)]) << j;
  }
  EXPECT_GT(differ, 100);
  EXPECT_TRUE(fma.slack.empty() && each.slack.empty());
}

// finite=yes is a promise about the stored logits. What a mask leaves out is -inf in nobody's memory.
TEST(Operands, FiniteLogitsMayBeLeftOut) {
  const auto finite = [](Variant v) {
    v.limits.finite = true;
    return check_operands(v);
  };
  const ConformanceResult right =
      finite(serial(op::mask_keep, [](const Call& c, std::int64_t r, std::int64_t j) {
        return c.keep(r, j) ? c.x(r, j) : kOut;
      }));
  for (const Record& one : right.records) EXPECT_EQ(one.status, Status::pass) << one.reason;
  EXPECT_GT(failed_operands(finite(serial(
                op::mask_keep, [](const Call& c, std::int64_t r, std::int64_t j) { return c.x(r, j); }))),
            100);
  // A kernel that is promised finite numbers gets no -inf in a bias either.
  Operands o;
  o.parts = op::bias;
  const OperandValues v = drawn_operands(o, 5, 100, 1, OperandDraw::long_tails, true);
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::int64_t j = 0; j < 100; ++j) EXPECT_TRUE(std::isfinite(v.bias.at(r, j)));
}

TEST(Operands, SmallLogitsStaySmall) {
  Variant v = serial(op::scale, [](const Call& c, std::int64_t r, std::int64_t j) {
    return c.p.scale * std::fmin(std::fmax(c.x(r, j), -5.0f), 5.0f);
  });
  v.limits.max_abs = 5;
  const ConformanceResult r = check_operands(v);
  EXPECT_EQ(failed_operands(r), 0) << reason_of_first_failure(r);
  std::int64_t judged = 0;
  for (const Record& one : r.records) judged += one.status == Status::pass;
  EXPECT_GT(judged, 100);
}

// Every case is outside what the author promises, so nothing was proved.
TEST(Operands, AKernelWhoseOperandsAreNeverJudgedDoesNotPass) {
  Variant v =
      serial(op::scale, [](const Call& c, std::int64_t r, std::int64_t j) { return c.p.scale * c.x(r, j); });
  v.limits.finite = true;
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"operands"};
  o.narrow.family = "all_neg_inf";
  const ConformanceResult r = run_conformance([&] { return v; }, o);
  ASSERT_FALSE(r.records.empty());
  EXPECT_EQ(r.records.back().status, Status::inconclusive) << r.records.back().reason;
  EXPECT_TRUE(r.records.back().reason.starts_with("no case with scale was judged: "))
      << r.records.back().reason;
}

TEST(Operands, TextIsReadBack) {
  for (const char* text :
       {"", "scale", "mask_keep:u8", "scale temperature mask_drop:bf16 bias:f16 lengths:i64",
        "temperatures bias_row:f32"}) {
    const auto o = parse_operands(text);
    ASSERT_TRUE(o) << text;
    EXPECT_EQ(text_of(*o), text);
  }
  for (const char* text : {"mask", "mask_keep", "mask_keep:u8 mask_drop:u8", "bias:f64", "scale scale",
                           "scale:f32", "temperature temperatures", "lengths:f32"})
    EXPECT_FALSE(parse_operands(text)) << text;
}

}  // namespace
}  // namespace assay::conformance
