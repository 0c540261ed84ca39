// SPDX-License-Identifier: Apache-2.0
// Tests the checker: a right implementation passes, and every classic way to fool a checker fails and names
// the check that found it. The "kernel" here is plain code behind a Variant, so that each corruption is
// exactly what the test says.
#include "accuracy/verdict/checker.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "accuracy/case/guarded.hpp"

namespace assay {
namespace {

/// What is done to a launch after a right softmax, or instead of it.
struct Corruption {
  std::function<void(const Problem&, const Buffers&, float* row, std::int64_t r)> row = {};  // one output row
  std::function<void(const Problem&, const Buffers&)> launch = {};  // the whole output
  bool skip = false;                                                // write nothing
};
Corruption corruption;

const float* logits_row(const Problem& p, const Buffers& b, std::int64_t r) {
  return static_cast<const float*>(b.logits) + r * p.in_pitch;
}
float* probs_row(const Problem& p, const Buffers& b, std::int64_t r) {
  return static_cast<float*>(b.probs) + r * p.out_pitch;
}

/// Safe softmax, serial, fp32 with a double sum: well within the class that it declares.
void right_row(const float* x, float* out, std::int64_t V, float* m_out, float* d_out) {
  float m = -INFINITY;
  for (std::int64_t i = 0; i < V; ++i) m = std::fmax(m, x[i]);
  double sum = 0;
  for (std::int64_t i = 0; i < V; ++i) sum += static_cast<double>(std::exp(x[i] - m));
  const auto d = static_cast<float>(sum);
  for (std::int64_t i = 0; i < V; ++i) out[i] = std::exp(x[i] - m) / d;
  *m_out = m;
  *d_out = d;
}

void run_fake(const Problem& p, const Buffers& b, const Stream&) {
  if (corruption.skip || p.V == 0) return;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    right_row(logits_row(p, b, r), probs_row(p, b, r), p.V, b.m + r, b.d + r);
    if (corruption.row) corruption.row(p, b, probs_row(p, b, r), r);
  }
  if (corruption.launch) corruption.launch(p, b);
}

Variant fake() {
  Variant v;
  v.variant = "fake";
  v.dtype = Dtype::f32;
  v.backend = Backend::host;
  v.claim.algorithm = Algorithm::safe;
  v.claim.height = [](std::int64_t V) { return V; };
  v.run = run_fake;
  return v;
}

Record check_fake(const char* family, std::int64_t V, std::int64_t rows, Corruption c = {}) {
  corruption = std::move(c);
  const Case inputs(*find_family(family), Dtype::f32, V, rows, 1);
  Record r = check_case(fake(), inputs, Op::softmax, 0);
  corruption = {};
  return r;
}

const CheckResult* find_check_of(const Record& r, const char* check) {
  for (const CheckResult& c : r.checks)
    if (name(c.check) == std::string_view(check)) return &c;
  return nullptr;
}

void expect_caught(const Record& r, const char* check) {
  EXPECT_EQ(r.status, Status::fail) << r.reason;
  const CheckResult* c = find_check_of(r, check);
  ASSERT_NE(c, nullptr) << check << " judged nothing: " << r.reason;
  EXPECT_GT(c->failed, 0) << "expected " << check << ", but: " << r.reason;
  EXPECT_FALSE(c->detail.empty());
  EXPECT_NE(r.reason.find(check), std::string::npos) << r.reason;
}

TEST(Checker, PassesARightKernelOnEveryFamily) {
  for (const Family& f : families())
    for (std::int64_t V : {1, 2, 33, 1000})
      if (applies(f, Dtype::f32, V)) {
        const Record r = check_fake(f.name, V, 3);
        EXPECT_EQ(r.status, Status::pass) << f.name << " V = " << V << ": " << r.reason;
        EXPECT_GT(r.rows_judged, 0);
      }
}

TEST(Checker, RefusesNanOutput) {
  expect_caught(
      check_fake("normal_1", 100, 2, {.row = [](auto& p, auto&, float* y, auto) { y[p.V / 2] = NAN; }}),
      "element");
  expect_caught(check_fake("normal_1", 100, 2,
                           {.row = [](auto& p, auto&, float* y, auto) { std::fill(y, y + p.V, NAN); }}),
                "range");
}

TEST(Checker, RefusesAllZeros) {
  const auto zeros = [](auto& p, auto&, float* y, auto) { std::fill(y, y + p.V, 0.0f); };
  for (std::int64_t V : {1, 100, 50257}) {
    const Record r = check_fake("normal_1", V, 1, {.row = zeros});
    expect_caught(r, "element");
    expect_caught(r, "row_sum");
  }
}

TEST(Checker, RefusesUniform) {
  expect_caught(check_fake("normal_1", 1000, 1,
                           {.row = [](auto& p, auto&, float* y,
                                      auto) { std::fill(y, y + p.V, 1.0f / static_cast<float>(p.V)); }}),
                "element");
}

TEST(Checker, RefusesStaleOutput) {
  expect_caught(check_fake("normal_1", 100, 2, {.row = {}, .launch = {}, .skip = true}), "written");
}

TEST(Checker, RefusesOneUnwrittenElement) {
  // The earlier contents stay in place.
  static float before;
  Variant v = fake();
  v.run = [](const Problem& p, const Buffers& b, const Stream& s) {
    before = probs_row(p, b, 1)[17];
    run_fake(p, b, s);
    std::memcpy(&probs_row(p, b, 1)[17], &before, sizeof before);
  };
  const Case inputs(*find_family("normal_1"), Dtype::f32, 64, 2, 1);
  expect_caught(check_case(v, inputs, Op::softmax, 0), "written");
}

TEST(Checker, RefusesOneWrongElementInAHundredThousand) {
  const Record r =
      check_fake("normal_1", 100000, 1, {.row = [](auto&, auto&, float* y, auto) { y[76543] *= 1.05f; }});
  expect_caught(r, "element");
  ASSERT_TRUE(r.worst);
  EXPECT_EQ(r.worst->column, 76543);
  EXPECT_EQ(find_check_of(r, "element")->failed, 1);
}

TEST(Checker, RefusesAShiftedRow) {
  expect_caught(check_fake("normal_1", 500, 1,
                           {.row = [](auto& p, auto&, float* y, auto) { std::rotate(y, y + 1, y + p.V); }}),
                "element");
}

TEST(Checker, RefusesTheWrongRow) {
  const auto swap = [](const Problem& p, const Buffers& b) {
    std::swap_ranges(probs_row(p, b, 0), probs_row(p, b, 0) + p.V, probs_row(p, b, 1));
  };
  expect_caught(check_fake("normal_1", 500, 2, {.row = {}, .launch = swap}), "element");
}

TEST(Checker, RefusesAWrongMaximumInOneLane) {
  // Lane 3 subtracts a maximum that is 0.7 too small, and divides by the matching sum. Element errors stay
  // within a few ulp; only the relation to the row's largest output shows the fault.
  const auto lane = [](const Problem& p, const Buffers& b, float* y, std::int64_t r) {
    const float* x = logits_row(p, b, r);
    const float m = b.m[r] - 0.7f;
    const float d = b.d[r] * std::exp(0.7f);
    for (std::int64_t i = 3; i < p.V; i += 32) y[i] = std::exp(x[i] - m) / d;
  };
  expect_caught(check_fake("normal_10", 4099, 2, {.row = lane}), "coherence");
}

TEST(Checker, RefusesASumThatSkipsTheLastElement) {
  const auto skip = [](const Problem& p, const Buffers& b, float* y, std::int64_t r) {
    const float last = std::exp(logits_row(p, b, r)[p.V - 1] - b.m[r]);
    for (std::int64_t i = 0; i < p.V; ++i) y[i] *= b.d[r] / (b.d[r] - last);
  };
  expect_caught(check_fake("normal_1", 1000, 1, {.row = skip}), "row_sum");
}

TEST(Checker, RefusesAWriteOutsideTheRow) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer stops at the write itself";
#endif
  expect_caught(
      check_fake("normal_1", 64, 2,
                 {.row = {}, .launch = [](auto& p, auto& b) { probs_row(p, b, p.rows - 1)[p.V] = 0.5f; }}),
      "guard");
  expect_caught(check_fake("normal_1", 64, 2,
                           {.row = {}, .launch = [](auto& p, auto& b) { probs_row(p, b, 0)[-1] = 0.5f; }}),
                "guard");
}

TEST(Checker, RefusesChangedInputs) {
  expect_caught(
      check_fake(
          "normal_1", 64, 2,
          {.row = {}, .launch = [](auto& p, auto& b) { const_cast<float*>(logits_row(p, b, 1))[5] = 0; }}),
      "inputs");
}

TEST(Checker, RefusesAnUnstableResult) {
  static int call = 0;
  const auto flicker = [](auto&, auto&, float* y, auto) {
    if (++call % 2) y[0] = std::nextafter(y[0], 2.0f);
  };
  expect_caught(check_fake("normal_1", 64, 1, {.row = flicker}), "repeat");
}

TEST(Checker, RefusesANegativeZeroAndALargeProbability) {
  expect_caught(check_fake("single_finite", 33, 1,
                           {.row =
                                [](auto& p, auto&, float* y, auto) {
                                  for (std::int64_t i = 0; i < p.V; ++i)
                                    if (y[i] == 0) y[i] = -0.0f;
                                }}),
                "range");
  expect_caught(check_fake("single_finite", 33, 1,
                           {.row =
                                [](auto& p, auto&, float* y, auto) {
                                  for (std::int64_t i = 0; i < p.V; ++i)
                                    if (y[i] == 1) y[i] = 1.0000001f;
                                }}),
                "range");
}

TEST(Checker, RefusesOrderAgainstTheLogits) {
  const auto order = [](auto& p, auto&, float* y, auto) { std::swap(y[0], y[p.V - 1]); };
  expect_caught(check_fake("ramp_1ulp", 33, 1, {.row = order}), "argmax");
}

TEST(Checker, PlacesOfAPartAreThoseOfTheLaunch) {
  constexpr std::int64_t kRow = 70000, kColumn = 1 << 24;
  Case inputs(*find_family("normal_1"), Dtype::f32, 4, 2, 1);
  inputs.is_part({{0, kRow}, {3, 9, kColumn, kColumn + 5}});
  // `spoil` of row 1, which finds what was there before the launch.
  using Spoil = void (*)(float* y, float& m, const float* old_y, float old_m);
  const auto check_part = [&](Spoil spoil) {
    Variant v = fake();
    v.run = [spoil](const Problem& p, const Buffers& b, const Stream& s) {
      float* const y = probs_row(p, b, p.rows - 1);
      const std::vector<float> old_y(y, y + p.V);
      const float old_m = b.m[p.rows - 1];
      run_fake(p, b, s);
      if (p.rows > 1) spoil(y, b.m[1], old_y.data(), old_m);
    };
    return check_case(v, inputs, Op::softmax, 0);
  };
  const Record wrong = check_part([](float* y, float&, const float*, float) { y[2] *= 2; });
  ASSERT_TRUE(wrong.worst);
  EXPECT_EQ(wrong.worst->row, kRow);
  EXPECT_EQ(wrong.worst->column, kColumn);
  EXPECT_TRUE(find_check_of(wrong, "element")->detail.starts_with("row 70000, column 16777216: got"))
      << find_check_of(wrong, "element")->detail;
  const Record stale = check_part([](float* y, float&, const float* old, float) { y[3] = old[3]; });
  EXPECT_EQ(find_check_of(stale, "written")->detail, "row 70000: element 16777221 was never written");
  EXPECT_EQ(find_check_of(stale, "written")->row, kRow);
  const Record no_m = check_part([](float*, float& m, const float*, float old) { m = old; });
  EXPECT_EQ(find_check_of(no_m, "written")->detail, "row 70000: m of row 70000 was never written");
}

TEST(Checker, RefusesAWrongNormalizer) {
  expect_caught(
      check_fake("normal_1", 64, 1,
                 {.row = {}, .launch = [](auto&, auto& b) { b.m[0] = std::nextafter(b.m[0], 100.0f); }}),
      "normalizer");
  expect_caught(
      check_fake("normal_1", 64, 1, {.row = {}, .launch = [](auto&, auto& b) { b.d[0] *= 1.001f; }}),
      "normalizer");
}

TEST(Checker, HoldsSpecialRowsToThePolicyPositionByPosition) {
  const auto zero = [](auto&, auto&, float* y, auto) { y[1] = 0; };
  for (const char* family : {"all_neg_inf", "pos_inf", "nan"}) {
    EXPECT_EQ(check_fake(family, 33, 1).status, Status::pass) << family;
    expect_caught(check_fake(family, 33, 1, {.row = zero}), "special");
  }
  expect_caught(check_fake("inf_warp", 129, 1,
                           {.row =
                                [](auto& p, auto& b, float* y, std::int64_t r) {
                                  for (std::int64_t i = 0; i < p.V; ++i)
                                    if (logits_row(p, b, r)[i] == -INFINITY) y[i] = 1e-45f;
                                }}),
                "special");
  expect_caught(
      check_fake("normal_1", 1, 1, {.row = [](auto&, auto&, float* y, auto) { y[0] = 0.99999994f; }}),
      "special");
}

TEST(Checker, NothingMayBeWrittenAtVZero) {
  EXPECT_EQ(check_fake("normal_1", 0, 2).status, Status::pass);
  Variant v = fake();
  v.run = [](const Problem&, const Buffers& b, const Stream&) { b.d[0] = 0; };
  const Case inputs(*find_family("normal_1"), Dtype::f32, 0, 2, 1);
  expect_caught(check_case(v, inputs, Op::softmax, 0), "special");
}

TEST(Checker, RefusesAClaimThatBuysALooseBound) {
  const Case inputs(*find_family("normal_1"), Dtype::f32, 1000, 1, 1);
  for (const std::int64_t height :
       {std::int64_t{1} << 62, std::int64_t{1} << 40, std::int64_t{1000000}, std::int64_t{-1}}) {
    static std::int64_t claimed;
    claimed = height;
    Variant v = fake();
    v.claim.height = [](std::int64_t) { return claimed; };
    expect_caught(check_case(v, inputs, Op::softmax, 0), "claim");
  }
}

TEST(Checker, SaysWhatItCannotJudge) {
  const Case inputs(*find_family("overflow"), Dtype::f32, 33, 3, 1);
  Variant naive = fake();
  naive.claim.algorithm = Algorithm::naive;
  naive.claim.shift = Shift::none;
  const Record domain = check_case(naive, inputs, Op::softmax, 0);
  EXPECT_EQ(domain.status, Status::unsupported);
  EXPECT_TRUE(domain.reason.starts_with("domain: ")) << domain.reason;
  EXPECT_FALSE(domain.returned.empty());
  const Record op = check_case(fake(), inputs, Op::lse, 0);
  EXPECT_EQ(op.status, Status::unsupported);
  EXPECT_TRUE(op.reason.starts_with("op: ")) << op.reason;
  const Record k = check_case(*find_variant("topk_block/f32@host"), inputs, Op::topk, 65);
  EXPECT_EQ(k.status, Status::unsupported);
  EXPECT_TRUE(k.reason.starts_with("k: ")) << k.reason;
}

TEST(Tally, FailsOnNanAndKeepsUndecidedApart) {
  Tally t;
  EXPECT_FALSE(t.judge(Check::element, NAN, NAN, 1, 1));
  EXPECT_FALSE(t.judge(Check::element, NAN, NAN, 2, 2));
  EXPECT_TRUE(t.judge(Check::element, 0.9, 1.1, 1, 1));
  EXPECT_EQ(t.failed(), 2);
  EXPECT_EQ(t.undecided(), 1);
  EXPECT_TRUE(std::isinf(t.at(Check::element).utilisation));
}

}  // namespace
}  // namespace assay
