// SPDX-License-Identifier: Apache-2.0
// Shrinking reaches the smallest input that shows a fault, and a case file reproduces it.
#include "fuzz/shrink.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/case_file.hpp"
#include "fuzz/mutant_test.hpp"
#include "fuzz/trial.hpp"
#include "reference/error.hpp"

namespace assay::fuzz {
namespace {

Shrunk shrunk(const char* fault, const Genome& g, Signature* how = nullptr,
              const ShrinkOptions& options = {}) {
  const Variant& v = mutant(fault);
  const Trial t = trial_of(g, v, v.op);
  const Signature s = signature_of(check(v, v.op, t, false), t.logits);
  EXPECT_FALSE(s.check.empty()) << fault << " passes";
  const Shrunk out = shrink(v, v.op, t, s, options);
  EXPECT_TRUE(fails_like(out.record, out.trial.logits, s)) << out.record.reason;
  if (how) *how = s;
  return out;
}

Genome ordinary_genome(std::int64_t V, std::int64_t rows) {
  Genome g;
  g.V = V;
  g.rows = rows;
  g.pitch_gap = 3;
  g.first = 1;
  g.schedule = 77;
  return g;
}

TEST(FuzzShrink, AMaximumThatStartsAtZero) {
  Genome g = ordinary_genome(400, 3);
  g.offset = -200;
  const Shrunk s = shrunk("max_from_zero", g);
  EXPECT_LE(s.trial.logits.V, 3);
  EXPECT_EQ(s.trial.logits.rows, 1);
  EXPECT_EQ(s.trial.pitch_gap + s.trial.first, 0);
  EXPECT_EQ(s.trial.schedule, 0u);
  EXPECT_LE(distinct_values(s.trial.logits), 1);
}

TEST(FuzzShrink, AMissingRescale) {
  const Shrunk s = shrunk("no_rescale", ordinary_genome(300, 2));
  EXPECT_EQ(s.trial.logits.rows, 1);
  EXPECT_LE(s.trial.logits.V, 2);
}

TEST(FuzzShrink, ANanThatIsHidden) {
  Genome g = ordinary_genome(129, 4);
  g.stretches = 1;
  g.stretch[0] = {Put::nan, 2, 40, 30, 0, 0};
  Signature how;
  const Shrunk s = shrunk("sentinel_hides_nan", g, &how);
  EXPECT_EQ(how.rows, "nan");
  EXPECT_EQ(s.trial.logits.rows, 1);
  EXPECT_LE(s.trial.logits.V, 2);
}

// This fault needs the length: a slice is lost if V > 2000.
TEST(FuzzShrink, KeepsWhatTheFaultNeeds) {
  Genome g = ordinary_genome(2500, 1);
  g.base = Base::constant;
  g.stretches = 1;
  g.stretch[0] = {Put::above, -1, 77, 1, 0, 40};
  ShrinkOptions few{.launches = 250};
  const Shrunk s = shrunk("slice_lost_from_maximum", g, nullptr, few);
  EXPECT_GT(s.trial.logits.V, 2000);
  EXPECT_LE(s.launches, few.launches + 1);
  EXPECT_LE(distinct_values(s.trial.logits), 2);
}

CaseFile example() {
  CaseFile c;
  c.key = "online_block/f32@host";
  c.claim = "online";
  c.trial.logits = Tensor(Dtype::f32, 2, 9);
  for (int j = 0; j < 9; ++j) c.trial.logits.set(0, j, -1.5);
  c.trial.logits.set(0, 8, 0x1.fffffep+127);
  for (int j = 0; j < 9; ++j) c.trial.logits.set(1, j, j);
  c.trial.logits.set(1, 0, -0.0);
  c.trial.logits.set(1, 1, NAN);
  c.trial.logits.set(1, 2, -INFINITY);
  c.trial.logits.set(1, 3, 0x1p-149);
  c.trial.pitch_gap = 2;
  c.trial.schedule = 1234567890123456789u;
  c.fails = {"element", "nan"};
  c.detail = "row 0: \"quoted\"";
  c.found = "assay fuzz";
  c.genome = Genome{};
  return c;
}

TEST(FuzzCaseFile, ComesBackWhole) {
  const CaseFile c = example();
  const CaseFile back = case_from_text(text_of(c), "file");
  EXPECT_EQ(text_of(back), text_of(c));
  EXPECT_EQ(back.trial.logits.bytes, c.trial.logits.bytes);
  EXPECT_EQ(back.trial.schedule, c.trial.schedule);
  EXPECT_EQ(back.fails, c.fails);
  ASSERT_TRUE(back.genome);
  EXPECT_EQ(*back.genome, *c.genome);
}

TEST(FuzzCaseFile, AThresholdOnceWasAKInMillionths) {
  CaseFile c = example();
  c.op = Op::top_p, c.trial.pick = of_threshold(0.25);
  const std::string text = text_of(c), field = "\"threshold\": 0.25";
  ASSERT_NE(text.find(field), std::string::npos) << text;
  EXPECT_EQ(case_from_text(text, "file").trial.pick, of_threshold(0.25));
  const auto with = [&](const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find(field), field.size(), other);
    return changed;
  };
  EXPECT_EQ(text_of(case_from_text(with("\"k\": 250000"), "file")), text);
  for (const char* wrong : {"\"threshold\": 0", "\"threshold\": 1.5", "\"threshold\": \"nan\"", "\"k\": 0",
                            "\"k\": 1000001", "\"threshold\": []"})
    EXPECT_THROW(case_from_text(with(wrong), "file"), InputError) << wrong;
}

/// A kernel may treat a signalling NaN, or a negative one, in its own way.
TEST(FuzzCaseFile, KeepsTheBitsOfANan) {
  for (const Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const std::uint64_t infinity = format(t).infinity_bits(), sign = format(t).sign_mask();
    for (const std::uint64_t bits :
         {infinity | 1, sign | infinity | 1, encode(t, NAN), sign | encode(t, NAN)}) {
      const std::string text = hex_text(t, bits);
      EXPECT_EQ(bits_of_text(text, t), bits) << text;
      EXPECT_EQ(text == "nan", bits == encode(t, NAN)) << text;
    }
    for (const char* bad :
         {"-nan", "+nan", "nan:", "nan:0x", "nan:7c15", "nan:0x7c00", "nan:0x0", "nan:0x17fc00001"})
      EXPECT_THROW(bits_of_text(bad, t), InputError) << bad;
  }
}

TEST(FuzzCaseFile, SaysWhatIsWrongWithAFile) {
  const std::string good = text_of(example());
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& word) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    try {
      case_from_text(bad, "file");
      ADD_FAILURE() << to << " was taken";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  };
  refused("\"assay_case\": 1", "\"assay_case\": 9", "version");
  refused("\"assay_case\"", "\"assay_thing\"", "not a case file");
  refused("\"softmax\"", "\"softmin\"", "softmin");
  refused("\"f32\"", "\"f33\"", "f33");
  refused("\"V\": 9", "\"V\": 8", "row 0");
  refused("\"V\": 9", "\"V\": 10", "row 0");
  refused("\"V\": 9", "\"V\": 1e99", "V");
  refused("\"rows\": 2", "\"rows\": 3", "3 rows");
  refused("\"rows\": 2", "\"rows\": 9223372036854775807", "rows");
  refused("-0x1.8p+0", "-0x1.80000000001p+0", "not a value of f32");
  refused("-0x1.8p+0", "one", "not a number");
  refused("\"times\": 8", "\"times\": -8", "row 0");
  refused("\"times\": 8", "\"times\": 80000000000", "row 0");
  refused("\"pitch_gap\": 2", "\"pitch_gap\": -2", "pitch_gap");
  refused("\"schedule\"", "\"schedul\"", "schedule");
  refused("\"schedule\"", "\"schedul\"", "schedule: is missing");
  refused("\"key\"", "\"quay\"", "file: key: is missing");
  refused("\"op\": \"softmax\"", "\"op\": 1", "file: op: must be a text");
  refused("\"layout\": {", "\"layout\": 1, \"other\": {", "file: layout: must be an object");
  refused("\"rows\": 2,", "\"rows\": 2", "file: is no JSON: line ");
  refused("\"V\": 9", "\"V\": nine", "file: is no JSON: line ");
  EXPECT_THROW(case_from_text("", "file"), InputError);
  EXPECT_THROW(case_from_text("[[[[", "file"), InputError);
  EXPECT_THROW(case_from_text(good.substr(0, good.size() / 2), "file"), InputError);
}

TEST(FuzzExplain, NamesTheElementItsTermsAndTheStages) {
  Genome g = ordinary_genome(40, 1);
  const Shrunk s = shrunk("no_rescale", g);
  const Variant& v = mutant("no_rescale");
  const std::string text = explain(v, v.op, s.trial, s.record);
  for (const char* word : {"exact       m = ", "stage       after column 0", "the kernel  m = ", "FAILS",
                           "sigma = ", "x - m = ", "ulp off", "failed ", "nearest class"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " is missing in\n" << text;
}

TEST(FuzzExplain, SpeaksOfEveryOp) {
  for (const char* key : {"lse_block/f16@host", "log_softmax_block/f32@host", "online_topk_block/f32@host",
                          "topk_block/f16@host", "online_block/bf16@host"}) {
    const Variant& v = *find_variant(key);
    Genome g = ordinary_genome(17, 2);
    const Trial t = trial_of(g, v, v.op);
    EXPECT_FALSE(explain(v, v.op, t, check(v, v.op, t, true)).empty()) << key;
    g.stretches = 1;
    g.stretch[0] = {Put::pos_inf, 0, 2, 1, 0, 0};
    const Trial special = trial_of(g, v, v.op);
    EXPECT_FALSE(explain(v, v.op, special, check(v, v.op, special, true)).empty()) << key;
    g.V = 0;
    const Trial empty = trial_of(g, v, v.op);
    EXPECT_FALSE(explain(v, v.op, empty, check(v, v.op, empty, true)).empty()) << key;
  }
}

}  // namespace
}  // namespace assay::fuzz
