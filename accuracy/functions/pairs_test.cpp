// SPDX-License-Identifier: Apache-2.0
// Two-element softmaxes: the cheap judge passes nothing that the full check refuses, every host variant
// passes a sample, and planted faults are found.
#include "accuracy/functions/pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "accuracy/functions/result_fields.hpp"
#include "kernels/device.hpp"
#include "reference/formats.hpp"
#include "reference/hash/draws.hpp"

namespace assay {
namespace {

using pairs::PairVerdict;

/// Outputs of a right kernel, moved by -3 to 3 steps.
std::uint32_t near_outputs(std::uint32_t logits, std::uint64_t h) {
  const double x0 = decode(Dtype::f16, logits & 0xffff), x1 = decode(Dtype::f16, logits >> 16);
  const double m = std::max(x0, x1);
  const double e0 = std::exp(x0 - m), e1 = std::exp(x1 - m);
  const auto off = [](std::uint64_t bits, int by) {
    return static_cast<std::uint32_t>(bits + static_cast<std::uint64_t>(by)) & 0xffff;
  };
  const int by0 = h % 4 ? 0 : static_cast<int>(h >> 8 & 7) - 3,
            by1 = h % 3 ? 0 : static_cast<int>(h >> 16 & 7) - 3;
  return off(encode(Dtype::f16, e0 / (e0 + e1)), by0) | off(encode(Dtype::f16, e1 / (e0 + e1)), by1) << 16;
}

TEST(PairJudge, PassesOnlyWhatTheFullCheckPasses) {
  std::int64_t passed = 0, outside = 0, open = 0;
  for (Backend backend : {Backend::host, Backend::cuda})
    for (const Variant* host : pair_variants(Backend::host)) {
      Variant v = *host;  // a claim is judged by its backend's functions, whether or not the key exists here
      v.backend = backend;
      const pairs::PairRules rules = pair_rules(v);
      for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t h = mixed(i);
        auto logits = static_cast<std::uint32_t>(h);
        // Most random pairs are far apart. So half of the rows have two close logits, and some have equal or
        // special ones.
        if (i % 2)
          logits = (logits & 0xffff) * 0x10001u + static_cast<std::uint32_t>(h >> 40 & 0x3ff) * 0x10000u;
        if (i % 29 == 0) logits = (logits & 0xffff) * 0x10001u;
        if (i % 31 == 0) logits = (logits & 0xffff0000u) | (i % 2 ? 0x7c00u : 0xfc00u);
        if (i % 37 == 0)
          logits = (logits & 0x3fff3fffu) | 0x54005400u;  // around 80: the end of naive's domain
        const std::uint32_t probs =
            i % 41 == 0 ? static_cast<std::uint32_t>(h >> 32) : near_outputs(logits, h >> 24);
        const pairs::PairJudged cheap = judge_pair(rules, logits, probs);
        if (cheap.verdict == PairVerdict::open) {
          ++open;
          continue;
        }
        (cheap.verdict == PairVerdict::pass ? passed : outside) += 1;
        ASSERT_EQ(judge_pair_fully(v, {logits, probs}), cheap.verdict)
            << v.key() << std::hex << " logits " << logits << " outputs " << probs;
      }
    }
  EXPECT_GT(passed, 10000);
  EXPECT_GT(outside, 200);
  EXPECT_GT(open, 1000);
}

TEST(PairSoftmax, HostVariantsPassASample) {
  const auto variants = pair_variants(Backend::host);
  ASSERT_GE(variants.size(), 7u);
  for (const Variant* v : variants) {
    const PairResult r = measure_pairs(*v, 4'000'037, 1);
    EXPECT_EQ(r.status, Status::pass) << r.key << ": " << r.reason;
    EXPECT_EQ(r.rows, 1074);
    EXPECT_GT(r.elements, 900);
    EXPECT_LT(r.full_check, r.rows / 4) << r.key << ": the cheap judge is of little use";
  }
}

std::function<void(const Problem&, const Buffers&, const Stream&)> right_softmax;
void spoil(const Problem& p, const Buffers& b, const Stream& s) {
  right_softmax(p, b, s);
  auto* probs = static_cast<std::uint16_t*>(b.probs);
  const auto* logits = static_cast<const std::uint16_t*>(b.logits);
  for (std::int64_t row = 0; row < p.rows; ++row)
    if (logits[2 * row] > 0x3c00 && logits[2 * row] < 0x3d00)
      probs[2 * row] = static_cast<std::uint16_t>(probs[2 * row] + 2);
}

TEST(PairSoftmax, FindsAnOutputTwoPlacesOff) {
  const Variant* online = find_variant("online_thread/f16@host");
  ASSERT_NE(online, nullptr);
  Variant v = *online;
  right_softmax = v.run;
  v.run = spoil;
  const PairResult r = measure_pairs(v, 1'000'003, 1);
  EXPECT_EQ(r.status, Status::fail);
  EXPECT_GT(r.failed, 0);
  EXPECT_NE(r.reason.find("element"), std::string::npos) << r.reason;
  v.run = [](const Problem&, const Buffers&, const Stream&) {};  // writes nothing
  EXPECT_EQ(measure_pairs(v, 4'000'037, 1).status, Status::fail);
}

TEST(PairSoftmax, ResultsSurviveJson) {
  PairResult r = measure_pairs(*find_variant("online_thread/f16@host"), 40'000'003, 1);
  r.ulp = INFINITY;
  EXPECT_EQ(fields_to_json(r),
            fields_to_json(fields_from_json<PairResult>(nlohmann::json::parse(fields_to_json(r).dump()))));
}

TEST(QuotientSweep, SaysWhyItDidNotRun) {
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "it can run here";
  const QuotientSweep q = sweep_quotients(1);
  EXPECT_EQ(q.status, Status::not_run);
  EXPECT_FALSE(q.reason.empty());
  EXPECT_EQ(fields_from_json<QuotientSweep>(fields_to_json(q)).reason, q.reason);
}

#if defined(ASSAY_WITH_CUDA)
TEST(QuotientSweep, PassesOnADeviceAndSeesAWrongReciprocal) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  const QuotientSweep q = sweep_quotients(1009);
  EXPECT_EQ(q.status, Status::pass);
  EXPECT_EQ(q.divisors, (kMantissas + 1008) / 1009);
  EXPECT_GT(sweep_quotients_on_device(1009, 4).wrong, 0);
}
#endif

}  // namespace
}  // namespace assay
