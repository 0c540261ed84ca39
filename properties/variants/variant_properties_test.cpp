// SPDX-License-Identifier: Apache-2.0
// Every registered variant, in every dtype and on every backend of this build, has every property that
// applies to it. One test checks one property on one backend, over all its keys.
#include "properties/variants/variant_properties.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "accuracy/case/case.hpp"
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
}  // namespace assay
