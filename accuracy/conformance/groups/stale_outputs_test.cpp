// SPDX-License-Identifier: Apache-2.0
// What outputs hold before a launch: kernels that are right only where it is what a judge would write there.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

constexpr const char* kGroups[] = {"families", "shapes", "rows",      "layout",
                                   "repeat",   "batch",  "schedules", "calls"};

/// Takes the first word of each row before the launch, and says whether the row is to be right.
using Rule = std::function<bool(std::uint32_t)>;

/// A right kernel whose rows become 5 % too large where the rule says no.
Variant right_only_if(const Rule& rule) {
  Variant v = *find_variant("safe_block/f32@host");
  v.run = [right = v.run, rule](const Problem& p, const Buffers& b, Stream s) {
    if (!b.probs) return right(p, b, s);
    std::vector<bool> wrong(static_cast<std::size_t>(p.rows), false);
    auto* const out = static_cast<float*>(b.probs);
    for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r) {
      std::uint32_t word = 0;
      std::memcpy(&word, out + r * p.out_pitch, sizeof word);
      wrong[static_cast<std::size_t>(r)] = b.probs != b.logits && !rule(word);
    }
    right(p, b, s);
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t j = 0; j < p.V && wrong[static_cast<std::size_t>(r)]; ++j)
        out[r * p.out_pitch + j] *= 1.05f;
  };
  return v;
}

ConformanceResult checked_in(const Variant& v, const char* group, std::uint64_t seed) {
  ConformanceOptions o;
  o.only = {group};
  o.extent = Extent::quick;
  o.threads = 1;
  o.seed = seed;
  o.most_elements = 1 << 14;
  // One length is enough where a case has several launches, or a length several cases.
  if (std::string_view(group) != "shapes") o.narrow.V = 33;
  return run_conformance([&] { return v; }, o);
}

std::int64_t failed_of(const ConformanceResult& result) {
  return std::count_if(result.records.begin(), result.records.end(),
                       [](const Record& r) { return r.status == Status::fail; });
}

bool is_nan_word(std::uint32_t word) { return std::isnan(std::bit_cast<float>(word)); }

TEST(StaleOutputs, AKernelThatAsksForWhatItFindsThereFailsInEveryGroup) {
  const std::pair<const char*, Rule> rules[] = {
      {"one of four words that were once written there",
       [](std::uint32_t w) {
         return w == 0x7fc5a5a5u || w == 0xffcba987u || w == 0x71800000u || w == 0xffffffffu;
       }},
      {"a NaN", is_nan_word},
      {"a NaN or a large number",
       [](std::uint32_t w) { return is_nan_word(w) || std::bit_cast<float>(w) > 1e20f; }},
      {"no zero", [](std::uint32_t w) { return w != 0; }},
      {"no probability",
       [](std::uint32_t w) { return !(std::bit_cast<float>(w) > 0 && std::bit_cast<float>(w) <= 1); }},
  };
  for (const auto& [words, rule] : rules)
    for (const char* group : kGroups)
      EXPECT_GT(failed_of(checked_in(right_only_if(rule), group, 1)), 0) << words << " in " << group;
}

/// Words that two runs have in common are those that memory holds in use.
TEST(StaleOutputs, AreDrawnFromTheSeedAndNothingElse) {
  std::set<std::uint32_t> marks[2];
  const std::uint64_t seeds[] = {1, 1, 2};
  std::vector<std::uint32_t> runs[3];
  for (int n = 0; n < 3; ++n) {
    const Variant v = right_only_if([&](std::uint32_t w) {
      runs[n].push_back(w);
      return true;
    });
    EXPECT_EQ(failed_of(checked_in(v, "layout", seeds[n])), 0);
  }
  EXPECT_EQ(runs[0], runs[1]);
  for (const int n : {0, 2})
    for (const std::uint32_t w : runs[n])
      if (is_nan_word(w)) marks[n / 2].insert(w);
  // The group has some ten launches, and half of them find marks, each its own.
  EXPECT_GE(marks[0].size(), 5u);
  for (const std::uint32_t w : marks[0]) EXPECT_FALSE(marks[1].contains(w)) << std::hex << w;
}

TEST(StaleOutputs, AnElementThatIsLeftOutIsSeenInEveryGroup) {
  Variant v = *find_variant("safe_block/f32@host");
  v.run = [right = v.run](const Problem& p, const Buffers& b, Stream s) {
    if (!b.probs) return right(p, b, s);
    auto* const out = static_cast<float*>(b.probs);
    std::vector<float> before;
    for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r) before.push_back(out[r * p.out_pitch + p.V - 1]);
    right(p, b, s);
    for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r)
      out[r * p.out_pitch + p.V - 1] = before[static_cast<std::size_t>(r)];
  };
  for (const char* group : kGroups) {
    const ConformanceResult result = checked_in(v, group, 1);
    std::int64_t unwritten = 0, passed = 0;
    for (const Record& r : result.records) {
      passed += r.status == Status::pass && r.V > 0 && r.rows > 0;
      for (const CheckResult& c : r.checks) unwritten += c.check == Check::written && c.failed > 0;
    }
    EXPECT_GT(unwritten, 0) << group;
    // Zeros are right by chance where the last output is 0; no other launch passes.
    EXPECT_LE(8 * passed, std::ssize(result.records)) << group;
  }
}

}  // namespace
}  // namespace assay::conformance
