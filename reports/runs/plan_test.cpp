// SPDX-License-Identifier: Apache-2.0
// What a report runs if nothing is asked for.
#include "reports/runs/plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "reference/error.hpp"

namespace assay {
namespace {

/// True for cases of a causal kernel of which a report takes only a part: 1 to 2 million elements.
bool large_square(const Variant& v, std::int64_t V) {
  return v.claim.causal != Causal::no && V >= 1000 && V < 2048;
}

TEST(ReportPlan, DefaultIsWhole) {
  const Plan plan = make_plan({});
  std::set<std::tuple<std::string, std::string, std::int64_t>> planned;
  for (const conformance::Unit& u : plan.units)
    for (const conformance::ConformanceCase& c : u.cases) planned.insert({c.variant->key(), c.family, c.V});
  for (const Variant& v : registry())
    for (const Family& f : families())
      for (std::int64_t V : report_sizes())
        if (v.backend != Backend::host_fma && applies(f, v.dtype, V) && !large_square(v, V)) {
          EXPECT_TRUE(planned.contains({v.key(), f.name, V})) << v.key() << " " << f.name << " " << V;
        }
}

TEST(ReportPlan, QuickHasEveryKeyAndFamilyInAtMostHalfOfTheCases) {
  Selection quick;
  quick.quick = true;
  const Plan whole = make_plan({}), plan = make_plan(quick);
  using KeysAndFamilies = std::set<std::pair<std::string, std::string>>;
  const auto met = [](const Plan& p) {
    KeysAndFamilies out;
    for (const conformance::Unit& u : p.units)
      for (const conformance::ConformanceCase& c : u.cases) out.insert({c.variant->key(), c.family});
    return out;
  };
  EXPECT_EQ(met(plan), met(whole));
  EXPECT_LE(2 * plan.records, whole.records);
  EXPECT_LT(plan.rows, whole.rows);
  EXPECT_LE(2 * plan.elements, whole.elements);
  // What is asked for by name is taken whole.
  const auto families_at = [](const Plan& p, std::int64_t V) {
    std::set<std::string> out;
    for (const conformance::Unit& u : p.units)
      for (const conformance::ConformanceCase& c : u.cases)
        if (c.V == V) out.insert(c.family);
    return out;
  };
  const std::int64_t longest = plan.sizes.back();
  EXPECT_LT(2 * families_at(plan, longest).size(), families_at(whole, longest).size());
  EXPECT_TRUE(families_at(plan, longest).contains("gpt_logits"));
  quick.sizes = {longest};
  EXPECT_EQ(families_at(make_plan(quick), longest), families_at(whole, longest));
  quick.sizes = {1000, 1025};
  EXPECT_EQ(make_plan(quick).sizes, quick.sizes);
  quick.full = true;
  EXPECT_THROW(make_plan(quick), InputError);
}

TEST(ReportPlan, LargeSquaresAreThinnedUnlessAskedFor) {
  const auto squares = [](const Selection& s) {
    std::map<std::string, int> count;
    for (const conformance::Unit& u : make_plan(s).units)
      for (const conformance::ConformanceCase& c : u.cases)
        if (large_square(*c.variant, c.V)) ++count[c.variant->key()];
    return count;
  };
  Selection full, named;
  full.full = true;
  named.families = {"normal_1", "spike"};
  const auto all = squares(full), some = squares({}), asked = squares(named);
  ASSERT_FALSE(some.empty());
  for (const auto& [key, n] : some) {
    EXPECT_TRUE(n >= 4 && n <= 8) << key << ": " << n;
    EXPECT_GT(all.at(key), 100) << key;
    EXPECT_EQ(asked.at(key), 8) << key << ": two families at four V";
  }
}

}  // namespace
}  // namespace assay
