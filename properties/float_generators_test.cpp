// SPDX-License-Identifier: Apache-2.0
// Tests the generators: every class and structure occurs, and shrinking stays inside the class.
#include "properties/float_generators.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "properties/property.hpp"
#include "properties/reduction_tree.hpp"

namespace assay {
namespace {

constexpr int kSamples = 4000;

class FloatGenerators : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, FloatGenerators, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(FloatGenerators, EveryClassAppears) {
  const Format f = format(GetParam());
  std::array<int, kFloatClasses> seen{};
  std::set<std::uint64_t> exponents, payloads, extremes, subnormals, zeros;
  const auto gen = floats(GetParam(), {true, true});
  rc::Random random(1);
  for (int i = 0; i < kSamples; ++i) {
    const Float x = gen(random.split(), 100).value();
    ++seen[static_cast<std::size_t>(class_of(x))];
    exponents.insert((x.bits & f.exponent_mask()) >> f.mantissa_bits());
    if (class_of(x) == FloatClass::nan) payloads.insert(x.bits & ~f.exponent_mask());
    if (class_of(x) == FloatClass::subnormal) subnormals.insert(x.bits);
    if (class_of(x) == FloatClass::zero) zeros.insert(x.bits);
    if (x.bits == f.infinity_bits() - 1 || x.bits == f.mantissa_mask() || x.bits == f.mantissa_mask() + 1)
      extremes.insert(x.bits);
  }
  for (int c = 0; c < kFloatClasses; ++c)
    EXPECT_GT(seen[static_cast<std::size_t>(c)], kSamples / 100) << name(static_cast<FloatClass>(c));
  EXPECT_GT(exponents.size(), std::size_t{1} << (f.bits - f.precision - 1)) << "exponents are not spread";
  EXPECT_GT(payloads.size(), 50u);
  EXPECT_EQ(extremes.size(), 3u);
  EXPECT_GT(subnormals.size(), 50u) << "subnormals are not spread: only their extremes came";
  EXPECT_EQ(zeros.size(), 2u) << "a zero lost its sign";
}

TEST_P(FloatGenerators, SpecialsComeOnRequestOnly) {
  const auto gen = floats(GetParam());
  rc::Random random(2);
  for (int i = 0; i < kSamples; ++i)
    ASSERT_LE(class_of(gen(random.split(), 100).value()), FloatClass::normal);
}

/// Follows the first, the last and the middle shrink of a value downwards. Each path ends, inside the class.
TEST_P(FloatGenerators, ShrinkingKeepsTheClassAndEnds) {
  const auto gen = floats(GetParam(), {true, true});
  rc::Random random(3);
  for (int i = 0; i < kSamples / 4; ++i) {
    const Float start = gen(random.split(), 100).value();
    for (int path = 0; path < 3; ++path) {
      Float x = start;
      int steps = 0;
      for (auto next = rounder(x); !next.empty(); next = rounder(x)) {
        for (Float y : next)
          ASSERT_EQ(class_of(y), class_of(start)) << std::hex << start.bits << " " << y.bits;
        x = path == 0 ? next.front() : path == 1 ? next.back() : next[next.size() / 2];
        ASSERT_LT(++steps, 400) << std::hex << start.bits;
      }
      if (class_of(start) == FloatClass::normal) {
        ASSERT_EQ(x.value(), 1.0);
      }
    }
  }
}

/// The planted property fails for values of at least 3. The counterexample is the roundest such value.
TEST_P(FloatGenerators, ShrinkingFindsTheRoundestCounterexample) {
  Float x{GetParam(), encode(GetParam(), 1234.5)};
  const auto fails = [](Float y) { return y.value() >= 3; };
  for (bool moved = true; moved;) {
    moved = false;
    for (Float y : rounder(x))
      if (fails(y)) {
        x = y;
        moved = true;
        break;
      }
  }
  EXPECT_EQ(x.value(), 4.0);
}

TEST(RowGenerators, EveryStructureIsWhatItSays) {
  for (int k = 0; k < kStructures; ++k) {
    const auto s = static_cast<Structure>(k);
    const auto gen = rows({s});
    rc::Random random(4);
    std::set<Dtype> formats;
    std::size_t longest = 0, with_ties = 0, masked_in_front = 0;
    std::map<std::string, int> seen;
    int neighbours = 0, equal_neighbours = 0;
    for (int i = 0; i < 300; ++i) {
      const Row row = gen(random.split(), 100).value();
      ASSERT_FALSE(row.logits.empty());
      for (const std::string& tag : tags_of(row)) ++seen[tag];
      neighbours += static_cast<int>(row.logits.size()) - 1;
      for (std::size_t j = 1; j < row.logits.size(); ++j)
        equal_neighbours += row.logits[j] == row.logits[j - 1];
      formats.insert(row.logits[0].format);
      longest = std::max(longest, row.logits.size());
      std::set<double> distinct;
      int poison = 0, finite = 0, neg_inf = 0;
      for (Float x : row.logits) {
        const FloatClass c = class_of(x);
        (c <= FloatClass::normal ? finite : c == FloatClass::negative_infinity ? neg_inf : poison)++;
        if (c <= FloatClass::normal) distinct.insert(x.value());
      }
      with_ties += static_cast<int>(distinct.size()) < finite;
      masked_in_front += class_of(row.logits[0]) == FloatClass::negative_infinity;
      EXPECT_EQ(poison > 0, s == Structure::poisoned) << name(s);
      EXPECT_EQ(finite == 0 && poison == 0, s == Structure::all_neg_inf) << name(s);
      if (s == Structure::ascending || s == Structure::ramp) {
        EXPECT_TRUE(std::is_sorted(row.logits.begin(), row.logits.end(),
                                   [](Float a, Float b) { return a.value() < b.value(); }));
      }
    }
    EXPECT_EQ(formats.size(), 3u) << name(s);
    EXPECT_GT(longest, 80u) << name(s);
    if (s == Structure::equal_runs) {
      EXPECT_GT(with_ties, 200u);
      EXPECT_GT(equal_neighbours, neighbours * 3 / 4) << "equal_runs rows lost their runs";
    }
    if (s == Structure::masked) {
      EXPECT_GT(masked_in_front, 80u);
    }
    if (s == Structure::huge) {
      EXPECT_GT(seen["x - max overflows"], 150) << "huge rows are not huge";
    }
    if (s == Structure::overflow) {
      EXPECT_GT(seen["e^max overflows"], 150) << "overflow rows do not overflow";
      EXPECT_GT(seen["e^max vanishes"], 30) << "overflow rows do not vanish";
    }
    if (s == Structure::mixed || s == Structure::uniform) {
      EXPECT_GT(seen["subnormal"], 150) << name(s) << " rows lost their subnormals";
      EXPECT_GT(seen["e^max overflows"], 100) << name(s) << " rows lost their large values";
    }
    if (s == Structure::uniform) {
      EXPECT_GT(seen["-0"], 50) << "uniform rows lost -0";
    }
  }
}

/// The features that may cause a failure survive to the smallest row: -inf, NaN and +inf.
TEST(RowGenerators, ShrinkingKeepsTheFailingFeature) {
  constexpr FloatClass kFeatures[] = {FloatClass::negative_infinity, FloatClass::positive_infinity,
                                      FloatClass::nan};
  rc::Random random(5);
  for (int k = 0; k < kStructures; ++k)
    for (int i = 0; i < 20; ++i) {
      const auto s = static_cast<Structure>(k);
      auto shrinkable = rows({s})(random.split(), 60);
      const Row start = shrinkable.value();
      int steps = 0;
      for (auto next = shrinkable.shrinks().next(); next; next = shrinkable.shrinks().next()) {
        shrinkable = std::move(*next);
        ASSERT_LT(++steps, 3000);
        const Row row = shrinkable.value();
        for (FloatClass c : kFeatures) ASSERT_EQ(row.has(c), start.has(c)) << name(s) << " and " << name(c);
      }
      std::size_t features = s == Structure::poisoned || s == Structure::all_neg_inf ? 0 : 1;
      for (FloatClass c : kFeatures) features += start.has(c);
      EXPECT_EQ(shrinkable.value().logits.size(), features) << name(s) << " does not shrink to its features";
    }
}

// Tests the required coverage: if a generator lost a class of input, the failure must name the property and
// the class, even if the property holds for the rest.

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
