// The groups on right kernels and on planted faults: what passes, what is found, what it is said to be caused
// by, and that one case alone gives the record that the whole run gave.
#include "accuracy/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/diagnosis.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"

namespace assay::conformance {
namespace {

/// In this process; `apart`: in a worker, as everybody's kernels run.
ConformanceResult check(const Variant& v, std::vector<std::string> only = {}, const Narrowing& narrow = {},
                        bool apart = false) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = std::move(only);
  o.narrow = narrow;
  return run_conformance([&] { return apart ? isolated(v) : v; }, o);
}

std::string failures(const ConformanceResult& r) {
  std::string out;
  for (const Finding& f : diagnose(r.records))
    out += f.group + " (" + f.checks + "): " + f.where + ": " + f.likely + ": " + f.detail + " " +
           f.first->reproduce + "\n";
  return out;
}

TEST(Conformance, RightKernelsPass) {
  for (const char* key : {"online_block/f32@host", "safe_then_topk/f16@host", "lse_block/bf16@host",
                          "online_thread/f16@host", "log_softmax_block/f32@host"}) {
    const Variant* v = find_variant(key);
    ASSERT_NE(v, nullptr) << key;
    const ConformanceResult r = check(*v);
    EXPECT_EQ(failures(r), "") << key;
    EXPECT_EQ(r.planned, r.executed);
    EXPECT_GT(r.planned, 500);
    const auto passed = std::count_if(r.records.begin(), r.records.end(),
                                      [](const Record& one) { return one.status == Status::pass; });
    EXPECT_GT(passed, r.planned - 20) << key;
  }
}

// A fault of a tail shows at one remainder of V. Round lengths and their neighbours leave out most of them.
TEST(Conformance, QuickTriesEveryRemainderWhereverAPathMayBegin) {
  std::set<std::int64_t> tried;
  for (const Record& r : check(*find_variant("safe_block/f32@host"), {"shapes"}).records) tried.insert(r.V);
  const auto has_all = [&](std::int64_t from, std::int64_t to, std::int64_t tile) {
    std::set<std::int64_t> remainders;
    for (const std::int64_t V : tried)
      if (V >= from && V < to) remainders.insert(V % tile);
    return static_cast<std::int64_t>(remainders.size()) == tile;
  };
  for (std::int64_t from = 0; from + 32 <= 520; ++from) EXPECT_TRUE(has_all(from, from + 32, 32)) << from;
  EXPECT_TRUE(has_all(512, 1100, 64));
  EXPECT_TRUE(has_all(1100, 4097, 32));
}

TEST(Conformance, OneCaseAloneGivesTheSameRecord) {
  const Variant& v = *find_variant("safe_block/f32@host");
  const ConformanceResult all = check(v, {"shapes", "layout", "calls", "repeat", "batch", "rows"});
  for (std::size_t i = 0; i < all.records.size(); i += 41) {
    const Record& r = all.records[i];
    Narrowing n{r.family, r.setup, r.V, r.rows, {}, {}, {}};
    const ConformanceResult one = check(v, {r.group}, n);
    ASSERT_EQ(one.records.size(), 1u) << r.reproduce;
    EXPECT_EQ(to_json(one.records[0]), to_json(r));
  }
}

TEST(Conformance, AnUnknownGroupOrAnEmptyPlanIsAnError) {
  const Variant& v = *find_variant("safe_block/f32@host");
  EXPECT_THROW(check(v, {"shades"}), InputError);
  Narrowing n;
  n.setup = "offset_3";
  EXPECT_THROW(check(v, {"layout"}, n), InputError);
}

TEST(Conformance, ShapesAreExhaustiveTo4096) {
  const auto sizes = shape_sizes(Extent::normal);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  for (std::int64_t V = 0; V <= 4098; ++V) EXPECT_EQ(sizes[static_cast<std::size_t>(V)], V);
  for (std::int64_t V : {8191, 8193, 65535, 131074, 6240, 12288, 14079, 50257, 6143, 28673, 262144, 300007})
    EXPECT_TRUE(std::binary_search(sizes.begin(), sizes.end(), V)) << V;
}

struct Named {
  const char* fault;
  const char* group;
  const char* where;   // part of the finding's rule
  const char* likely;  // part of its cause
};

TEST(Conformance, PlantedFaultsAreNamed) {
  const Named all[] = {
      {"sum_skips_tail", "shapes", "no multiple of 4", "the tail of a vectorised loop"},
      {"max_from_flt_min", "shapes", "whose logits are all below zero", "does not start at -inf"},
      {"out_pitch_ignored", "layout", "pitch", "pitch"},
      {"order_of_batch", "batch", "V = 1025", "depends on the other rows of its batch"},
      {"length_of_first_call", "calls", "small_large_small", "sized or filled by an earlier call"},
      {"cached_by_head", "calls", "same_head", "a fingerprint of the first logits"},
      {"table_by_length", "calls", "dtype_order", "without the type it was made for"},
  };
  for (const Named& n : all) {
    const Mutant* m = find_mutant_of(n.fault);
    ASSERT_NE(m, nullptr) << n.fault;
    const ConformanceResult r = check(m->variant, {n.group}, {}, true);
    const auto found = diagnose(r.records);
    ASSERT_FALSE(found.empty()) << n.fault << " is not refused by " << n.group;
    const bool named = std::any_of(found.begin(), found.end(), [&](const Finding& f) {
      return f.where.find(n.where) != std::string::npos && f.likely.find(n.likely) != std::string::npos;
    });
    EXPECT_TRUE(named) << n.fault << ":\n" << failures(r);
  }
}

TEST(Conformance, AGroupIsLeftForCrashesThatTakeTimeAndForHangs) {
  Patience quick;
  quick.crashes = 400;
  quick.crashing_ns = Patience::kCrashingNs - 1;
  EXPECT_FALSE(quick.over());
  quick.crashing_ns = Patience::kCrashingNs;
  EXPECT_TRUE(quick.over());
  quick.crashes = Patience::kCrashes - 1;
  EXPECT_FALSE(quick.over());
  quick.hangs = Patience::kHangs;
  EXPECT_TRUE(quick.over());
}

TEST(Conformance, StateBetweenCallsIsSaidOfKernelsThatKeepIt) {
  const Mutant& keeps = *find_mutant_of("right_for_ten_calls");
  const ConformanceResult r = check(keeps.variant, {"shapes", "calls"}, {}, true);
  bool said = false;
  for (const Finding& f : diagnose(r.records))
    if (f.group == "shapes") {
      said = true;
      EXPECT_NE(f.likely.find("keeps state between calls"), std::string::npos) << f.likely;
      EXPECT_NE(f.calls_reproduce.find(" --only calls "), std::string::npos) << f.calls_reproduce;
    }
  EXPECT_TRUE(said) << failures(r);
  // Wrong on +inf, in any call, and alone as well: nothing reaches the next call.
  Narrowing n;
  n.setup = "after_special";
  const ConformanceResult s = check(find_mutant_of("infinity_wins")->variant, {"calls"}, n, true);
  const auto found = diagnose(s.records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].likely, "") << failures(s);
  EXPECT_EQ(found[0].calls_reproduce, "");
}

}  // namespace
}  // namespace assay::conformance
