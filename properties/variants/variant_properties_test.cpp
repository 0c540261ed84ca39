// SPDX-License-Identifier: Apache-2.0
// Every registered variant, in every dtype and on every backend of this build, has every property that
// applies to it. One test checks one property on one backend, over all its keys.
#include "properties/variants/variant_properties.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

struct VariantCase {
  Backend backend;
  const VariantProperty* property;
};
void PrintTo(const VariantCase& c, std::ostream* os) { *os << name(c.backend) << "_" << c.property->name; }

std::vector<const Variant*> keys_on(Backend backend) {
  std::vector<const Variant*> keys;
  for (const Variant& v : registry())
    if (v.backend == backend) keys.push_back(&v);
  return keys;
}
std::vector<VariantCase> every_property_on(Backend backend) {
  std::vector<VariantCase> cases;
  for (const VariantProperty& p : variant_properties()) cases.push_back({backend, &p});
  return cases;
}
const auto kPropertyOfVariant = [](const auto& test) { return std::string(test.param.property->name); };

class Variants : public testing::TestWithParam<VariantCase> {};
TEST_P(Variants, Have) {
  const auto [backend, property] = GetParam();
  if (const std::string why = unavailable_reason(backend); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = outcome_of(*property, keys_on(backend), name(backend));
  std::printf("%s\n", outcome.coverage.c_str());
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
}
INSTANTIATE_TEST_SUITE_P(VariantsHost, Variants, testing::ValuesIn(every_property_on(Backend::host)),
                         kPropertyOfVariant);
INSTANTIATE_TEST_SUITE_P(VariantsHostFma, Variants, testing::ValuesIn(every_property_on(Backend::host_fma)),
                         kPropertyOfVariant);
INSTANTIATE_TEST_SUITE_P(VariantsCuda, Variants, testing::ValuesIn(every_property_on(Backend::cuda)),
                         kPropertyOfVariant);

/// No key is left out: each has the general properties and one that judges its values or its selection.
TEST(VariantProperties, ApplyToEveryKey) {
  for (const Variant& v : registry()) {
    if (!not_plain_rows(v.claim, v.op).empty()) continue;
    int applying = 0;
    for (const VariantProperty& p : variant_properties()) applying += p.applies(v);
    EXPECT_GE(applying, 6) << v.key();
  }
}

/// Reports the kernels that work in place without claiming it. Only the author can make a claim.
TEST(VariantProperties, TellWhatWorksInPlaceUnclaimed) {
  const auto in_place =
      std::find_if(variant_properties().begin(), variant_properties().end(),
                   [](const auto& p) { return std::string(p.name) == "in_place_equals_out_of_place"; });
  ASSERT_NE(in_place, variant_properties().end());
  VariantProperty asked = *in_place;
  asked.applies = any_variant;
  asked.must_appear = {};
  std::set<std::string> claimed, unclaimed;
  for (const Variant& v : registry()) {
    if (v.backend != Backend::host || !(v.op == Op::softmax || v.op == Op::log_softmax)) continue;
    if (v.claim.in_place)
      claimed.insert(v.variant);
    else if (outcome_of(asked, {&v}, v.key(), false).failure.empty())
      unclaimed.insert(v.variant);
  }
  std::string text = "in place, claimed:";
  for (const std::string& name : claimed) text += " " + name;
  text += "; found, but not claimed:";
  for (const std::string& name : unclaimed) text += " " + name;
  std::printf("%s\n", text.c_str());
  EXPECT_FALSE(claimed.empty());
}

}  // namespace

// Rows of which one part has no maximum: only -inf, or -inf and a NaN, beside finite logits. A kernel that
// splits a row among threads, warps or blocks must merge such a part as nothing, or as NaN.

namespace {

constexpr double kInfinityOfSlices = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// Row 2p: part p of eight is -inf; row 2p + 1: with a NaN in it. Then all but one logit -inf; all -inf with
/// a NaN. The same again `times` times.
Tensor rows_with_empty_parts(Dtype dtype, std::int64_t V, std::int64_t times) {
  constexpr std::int64_t kParts = 8, kKinds = 2 * kParts + 2;
  Tensor t(dtype, kKinds * times, V);
  for (std::int64_t at = 0; at < t.rows; ++at) {
    const std::int64_t r = at % kKinds;
    const std::int64_t part = r / 2, begin = part * V / kParts, end = (part + 1) * V / kParts;
    for (std::int64_t j = 0; j < V; ++j) {
      const bool empty = part == kParts || (j >= begin && j < end);
      t.set(at, j, empty ? -kInfinityOfSlices : static_cast<double>(j % 17) / 4 - 2);
    }
    if (part == kParts)
      t.set(at, V / 2, r % 2 == 0 ? 1.0 : kNan);
    else if (r % 2 == 1)
      t.set(at, (begin + end) / 2, kNan);
  }
  return t;
}

class EmptySlices : public testing::TestWithParam<Backend> {};
TEST_P(EmptySlices, AreMergedAsNothingOrAsNan) {
  if (const std::string why = unavailable_reason(GetParam()); !why.empty()) GTEST_SKIP() << why;
  // Each rung of onepass: lanes, warp, block, cluster, boxed, and what does not fit there. On a GPU these few
  // rows take clusters and the grid from 9001 on. `only`: other variants have no path of their own there.
  struct Length {
    std::int64_t V, times = 1;
    std::string_view only = "";
    int judged = 20;
  };
  std::vector<Length> lengths = {{100},  {1025}, {9001}, {20001, 1, "onepass", 3}, {40001, 1, "onepass", 3},
                                 {70001}};
  if (GetParam() == Backend::cuda) lengths.push_back({70001, 60, "", 3});
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const auto& [V, times, only, least] : lengths) {
      const Case c("empty_parts", rows_with_empty_parts(dtype, V, times));
      int judged = 0;
      for (const Variant& v : registry()) {
        if (v.backend != GetParam() || v.dtype != dtype || !not_plain_rows(v.claim, v.op).empty()) continue;
        if ((times > 1 && v.op != Op::lse) || !v.variant.starts_with(only)) continue;
        const Record r = check_case(v, c, v.op, selects(v.op) ? 5 : 0);
        if (r.status == Status::unsupported) continue;
        EXPECT_EQ(r.status, Status::pass) << v.key() << " V = " << V << ": " << r.reason;
        ++judged;
      }
      EXPECT_GE(judged, least) << name(dtype) << " V = " << V;
    }
}
INSTANTIATE_TEST_SUITE_P(Variants, EmptySlices, testing::Values(Backend::host, Backend::cuda),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace assay
