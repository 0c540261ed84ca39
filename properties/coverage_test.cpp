// SPDX-License-Identifier: Apache-2.0
// Tests the required coverage: if a generator lost a class of input, the failure must name the property and
// the class, even if the property holds for the rest.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "properties/float_generators.hpp"
#include "properties/property.hpp"
#include "properties/reduction_tree.hpp"

namespace assay {
namespace {

constexpr const char* kProperty = "leaf_is_x_and_one";

/// Removes a class: a value of that class becomes 1.
Float without(Float x, FloatClass lost) {
  return class_of(x) == lost ? Float{x.format, encode(x.format, 1)} : x;
}

constexpr const char* kClassNames[] = {"zero",           "subnormal",     "normal",
                                       "minus_infinity", "plus_infinity", "nan"};

class LostClass : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, LostClass, testing::Range(0, kFloatClasses),
                         [](const auto& test) { return std::string(kClassNames[test.param]); });
TEST_P(LostClass, FailsByPropertyAndClass) {
  const auto lost = static_cast<FloatClass>(GetParam());
  Trial trial{kProperty, "a crippled generator", 2000, {}};
  for (int c = 0; c < kFloatClasses; ++c) trial.must_appear.push_back(name(static_cast<FloatClass>(c)));
  const auto body = [&](bool crippled) {
    return try_out(trial,
                   [&, crippled] {
                     const Float drawn = *floats(Dtype::f16, {true, true});
                     // 1 is a normal value, so if normal values are lost a zero replaces them.
                     const Float x = !crippled ? drawn
                                     : lost == FloatClass::normal && class_of(drawn) == lost
                                         ? Float{drawn.format, 0}
                                         : without(drawn, lost);
                     RC_TAG(std::string(name(class_of(x))));
                   })
        .failure;
  };
  EXPECT_EQ(body(false), "");
  const std::string failure = body(true);
  EXPECT_NE(failure.find(kProperty), std::string::npos) << failure;
  EXPECT_NE(failure.find("the class of input \"" + std::string(name(lost)) + "\" appeared in 0 of 2000"),
            std::string::npos)
      << failure;
}

class LostStructure : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, LostStructure, testing::Range(0, kStructures), [](const auto& test) {
  return std::string(name(static_cast<Structure>(test.param)));
});
TEST_P(LostStructure, FailsByPropertyAndClass) {
  const auto lost = static_cast<Structure>(GetParam());
  Trial trial{"any_tree_within_bounds", "a crippled generator", 2000, {}};
  std::vector<Structure> all, rest;
  for (int s = 0; s < kStructures; ++s) {
    trial.must_appear.push_back(name(static_cast<Structure>(s)));
    all.push_back(static_cast<Structure>(s));
    if (all.back() != lost) rest.push_back(all.back());
  }
  const auto body = [&](const std::vector<Structure>& from) {
    return try_out(trial, [&] { classify(*rows(from)); }).failure;
  };
  EXPECT_EQ(body(all), "");
  const std::string failure = body(rest);
  EXPECT_NE(failure.find("property any_tree_within_bounds"), std::string::npos) << failure;
  EXPECT_NE(failure.find("\"" + std::string(name(lost)) + "\""), std::string::npos) << failure;
}

TEST(Coverage, IsToldForEveryTag) {
  const Outcome outcome = try_out({"sign", "the test", 1000, {"negative"}}, [] {
    const Float x = *floats(Dtype::bf16);
    RC_CLASSIFY(std::signbit(x.value()), "negative");
    RC_CLASSIFY(x.value() != x.value(), "never");
  });
  EXPECT_EQ(outcome.failure, "");
  EXPECT_NE(outcome.coverage.find("property sign of the test, 1000 cases: \"negative\""), std::string::npos)
      << outcome.coverage;
  EXPECT_EQ(outcome.coverage.find("never"), std::string::npos);
}

/// A counterexample keeps its failing class to the last step of shrinking: it ends at the roundest subnormal,
/// not at a 1.
TEST(Shrinking, ACounterexampleStaysInTheClassItFailsFor) {
  for (const auto& [c, smallest] :
       {std::pair{FloatClass::subnormal, "0x00000001"},
        std::pair{FloatClass::negative_infinity, "0xff800000"}, std::pair{FloatClass::nan, "0x7fc00000"}}) {
    const Outcome outcome = try_out({"no special value", "the test", 1000, {}}, [wanted = c] {
      const Float x = *floats(Dtype::f32, {true, true});
      RC_ASSERT(class_of(x) != wanted);
    });
    EXPECT_NE(outcome.failure.find(smallest), std::string::npos) << outcome.failure;
    EXPECT_NE(outcome.failure.find("reproduce with RC_PARAMS"), std::string::npos) << outcome.failure;
  }
}

TEST(Shrinking, ARowThatFailsForItsMinusInfinityKeepsIt) {
  const Outcome outcome = try_out({"no -inf", "the test", 1000, {}}, [] {
    const Row row = *rows({Structure::masked}, {Dtype::f32});
    RC_ASSERT(!row.has(FloatClass::negative_infinity));
  });
  EXPECT_NE(outcome.failure.find("masked row of 2 f32"), std::string::npos) << outcome.failure;
  EXPECT_NE(outcome.failure.find("-inf"), std::string::npos) << outcome.failure;
}

}  // namespace
}  // namespace assay
