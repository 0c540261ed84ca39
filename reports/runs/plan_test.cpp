// SPDX-License-Identifier: Apache-2.0
// What a report runs if nothing is asked for.
#include "reports/runs/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/worst_case.hpp"

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

// What the heads of kernels/variants say of their worst cases is true: each is run again, on the host's
// executor.

namespace fs = std::filesystem;
const fs::path kRoot = ASSAY_SOURCE_DIR;

/// The variants of a file, by its path in the project.
std::map<std::string, std::vector<const Variant*>> variants_by_file() {
  std::map<std::string, std::vector<const Variant*>> files;
  for (const Variant& v : registry()) files[v.file].push_back(&v);
  return files;
}

/// Inputs and their truth; variants share worst cases.
const Case& case_of(const WorstCase& w, Dtype dtype) {
  static std::map<std::tuple<std::string, Dtype, std::int64_t, std::int64_t, std::uint64_t>, Case> cases;
  const auto key = std::make_tuple(w.family, dtype, w.V, w.rows, w.seed);
  return cases.try_emplace(key, family_named(w.family), dtype, w.V, w.rows, w.seed).first->second;
}

/// What is wrong with the head of a variant's file, in words and with the line that would be right; empty if
/// nothing is.
std::string wrong_with(std::string_view source, const std::vector<const Variant*>& keys) {
  HeadOfFile head;
  try {
    head = head_of_file(source);
  } catch (const InputError& e) {
    return e.what();
  }
  const Variant& any = *keys.front();
  if (any.op == Op::topk)
    return head.says_none && head.worst.empty() ? ""
                                                : fmt::format("the head needs the line\n{}", kNoWorstCase);
  int on_host = 0;
  for (const WorstCase& w : head.worst) {
    on_host += w.backend == name(Backend::host);
    const Variant* v = find_variant(fmt::format("{}/{}@{}", any.variant, w.dtype, w.backend));
    if (!v && w.backend != name(Backend::cuda)) return "no such key: " + head_line(w);
    if (!v || !unavailable_reason(v->backend).empty()) continue;
    if (!find_family(w.family)) return "no such family: " + head_line(w);
    const std::optional<WorstCase> seen = worst_case_of(check_case(*v, case_of(w, v->dtype), v->op, w.pick));
    if (!seen) return "no error was seen where the head says\n" + head_line(w);
    if (*seen != w) return fmt::format("the head says\n{}\nbut was seen\n{}", head_line(w), head_line(*seen));
  }
  if (on_host != 1 || head.says_none)
    return fmt::format("the head needs one worst case on the host: assay report --key '{}/*' prints it",
                       any.variant);
  return "";
}

TEST(VariantHeads, EachWorstCaseIsSeenAgain) {
  const auto files = variants_by_file();
  std::set<std::string> seen;
  for (const auto& room : fs::directory_iterator(kRoot / "kernels/variants"))
    for (const auto& file : fs::directory_iterator(room.path())) {
      if (file.path().extension() != ".cu") continue;
      const std::string path = fs::relative(file.path(), kRoot).string();
      ASSERT_TRUE(files.contains(path)) << path << " registers nothing";
      EXPECT_EQ(wrong_with(read_file(file.path()), files.at(path)), "") << path;
      seen.insert(path);
    }
  EXPECT_EQ(seen.size(), files.size());
  EXPECT_GE(seen.size(), 40u);
}

TEST(VariantHeads, AWrongHeadIsRefused) {
  const std::string path = "kernels/variants/online/online_warp.cu";
  const std::vector<const Variant*> keys = variants_by_file().at(path);
  const std::string source = read_file(kRoot / path);
  ASSERT_EQ(wrong_with(source, keys), "");
  const WorstCase right = head_of_file(source).worst.front();
  const auto with = [&](auto change) {
    WorstCase w = right;
    change(w);
    std::string text = source;
    return text.replace(text.find(head_line(right)), head_line(right).size(), head_line(w));
  };
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.ulp *= 1.001; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.ulp *= 0.999; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { ++w.column; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { ++w.seed; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.family = "no_family"; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.dtype = "f8"; }), keys), "");
  std::string none = source;
  none.replace(none.find(head_line(right)), head_line(right).size(), kNoWorstCase);
  EXPECT_NE(wrong_with(none, keys), "");
  std::string gone = source;
  gone.erase(gone.find(head_line(right)), head_line(right).size() + 1);
  EXPECT_NE(wrong_with(gone, keys), "");
  std::string broken = source;
  broken.insert(broken.find(head_line(right)) + head_line(right).size(), " More.");
  EXPECT_NE(wrong_with(broken, keys), "");
}

}  // namespace
}  // namespace assay
