// SPDX-License-Identifier: Apache-2.0
// The groups on right kernels and on planted faults: what passes, what is found, which cause is named, and
// that one case alone gives the same record as in the whole run.
#include "accuracy/conformance/conformance.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"

namespace assay::conformance {
namespace {

/// Runs in this process; `apart`: in a worker process, as for users' kernels.
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

// A fault in a tail shows at one remainder of V. Round lengths and their neighbours miss most remainders.
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

// A read of one column too many is seen only at a page's end, and a kernel may make it at one remainder only.
TEST(Conformance, EveryRestOfATileEndsAtAPage) {
  std::set<std::int64_t> shorter, longer;
  for (const Record& r : check(*find_variant("safe_block/f32@host"), {"layout"}, {}, true).records)
    if (r.setup == "page_end" && r.status == Status::pass) (r.V <= 64 ? shorter : longer).insert(r.V % 64);
  EXPECT_EQ(shorter.size(), 64u);
  EXPECT_GE(longer.size(), 62u);
}

TEST(Conformance, OneCaseAloneGivesTheSameRecord) {
  const Variant& v = *find_variant("safe_block/f32@host");
  const ConformanceResult all = check(v, {"shapes", "layout", "calls", "repeat", "batch", "rows"});
  for (std::size_t i = 0; i < all.records.size(); i += 41) {
    const Record& r = all.records[i];
    Narrowing n{r.family, r.setup.text(), r.V, r.rows, {}, {}, {}};
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
      {"max_from_flt_min", "shapes", "every row whose maximum is 0 or less", "does not start at -inf"},
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

TEST(Conformance, AKernelThatCanNotBeMadeAgainIsAnErrorAndNoAbort) {
  const Variant& v = *find_variant("safe_block/f32@host");
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes"};
  o.threads = 4;
  // By then the second thread is at work.
  int made = 0;
  const auto make = [&] {
    if (++made == 3) throw InputError("no third worker");
    return v;
  };
  EXPECT_THROW(run_conformance(make, o), InputError);
  // If the machine does not have as many workers, there are fewer.
  made = 0;
  const auto scarce = [&] {
    if (++made == 3) throw EnvironmentError("no third worker");
    return v;
  };
  const ConformanceResult r = run_conformance(scarce, o);
  EXPECT_EQ(r.planned, r.executed);
  EXPECT_EQ(failures(r), "");
}

/// The first launches end badly, each in its own process: $ASSAY_FIXTURE_SOME says how many. In a sandbox
/// they could not write the file that counts them.
ConformanceResult check_disturbed(const std::string& fixture, int times, double timeout = 0.3) {
  const auto count = std::filesystem::temp_directory_path() / ("assay-disturbed-" + std::to_string(getpid()));
  std::filesystem::remove(count);
  setenv("ASSAY_FIXTURE_SOME", (std::to_string(times) + " " + count.string()).c_str(), 1);
  setenv("ASSAY_KEEP_ENV", "ASSAY_FIXTURE_SOME", 1);
  isolation::forget_unexplained_ends();
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes", "batch", "calls"};
  o.narrow.V = 257;
  o.threads = 1;
  const auto made = load_plugin(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so#" + fixture,
                                {.timeout_seconds = timeout, .sandbox = false});
  const ConformanceResult r = run_conformance([&] { return made.at(0); }, o);
  unsetenv("ASSAY_FIXTURE_SOME");
  unsetenv("ASSAY_KEEP_ENV");
  std::filesystem::remove(count);
  return r;
}

TEST(Conformance, WhatOthersDoToAWorkerIsNoVerdict) {
  if (!std::filesystem::exists(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so")) GTEST_SKIP();
  // Killed or stopped twice in a row, in two workers.
  for (const auto& [fixture, times] : {std::pair("die_some_times", 2), std::pair("stop_some_times", 2)}) {
    const ConformanceResult r = check_disturbed(fixture, times);
    EXPECT_EQ(r.planned, r.executed) << fixture;
    EXPECT_EQ(failures(r), "") << fixture;
    int tried_again = 0;
    for (const Record& one : r.records) tried_again += !one.at_first.empty();
    EXPECT_EQ(tried_again, 1) << fixture;
  }
}

/// A user who kills a kernel's process does that once or twice. In a process namespace that others use, too,
/// nobody can tell who did.
TEST(Conformance, AProcessThatIsEndedAgainAndAgainIsNoPass) {
  if (!std::filesystem::exists(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so")) GTEST_SKIP();
  for (const char* const fixture : {"die_some_times", "stop_some_times"}) {
    int open = 0;
    for (const Record& r : check_disturbed(fixture, 3).records) {
      EXPECT_TRUE(r.status == Status::pass || r.status == Status::inconclusive) << r.reason;
      open += r.status == Status::inconclusive &&
              r.reason.find("in more than 2 launches: by itself or by another one") != r.reason.npos;
    }
    EXPECT_EQ(open, 1) << fixture;
  }
}

// No neighbour uses up a worker's own time. A case that hung once by its own time, and is fast alone, keeps
// some state. runner_test.cpp has the same with times that are told.
TEST(Conformance, WhatHangsOnceByItsOwnTimeIsNoPass) {
  if (!std::filesystem::exists(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so")) GTEST_SKIP();
  const ConformanceResult r = check_disturbed("hang_some_times", 1, 3);
  int open = 0;
  for (const Record& one : r.records) {
    EXPECT_TRUE(one.status == Status::pass || one.status == Status::inconclusive) << one.reason;
    open += one.status == Status::inconclusive && one.reason.starts_with("hung once");
  }
  EXPECT_EQ(open, 1);
}

TEST(Conformance, WhatHappensAgainAloneIsTheKernels) {
  if (!std::filesystem::exists(std::string(ASSAY_FIXTURES) + "/fixture_kernels.so")) GTEST_SKIP();
  for (const auto& [fixture, status] :
       {std::pair("die_some_times", Status::crashed), std::pair("hang_some_times", Status::hung)}) {
    const ConformanceResult r = check_disturbed(fixture, 1000);
    EXPECT_GT(std::count_if(r.records.begin(), r.records.end(),
                            [s = status](const Record& one) { return one.status == s; }),
              2)
        << fixture;
    EXPECT_EQ(failures(r).find("keeps state between calls"), std::string::npos) << failures(r);
  }
}

/// Runs in this process; some of the first launches are lost.
class Losing final : public HereLauncher {
 public:
  Losing(Variant inner, LaunchOutcome outcome, int times)
      : inner_(std::move(inner)), outcome_(std::move(outcome)), left_(times) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    if (left_-- > 0) {
      seen_.lost = outcome_;
      return outcome_;
    }
    return assay::launch(inner_, p, images, o);
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

 private:
  Variant inner_;
  LaunchOutcome outcome_;
  int left_;
  Disturbance seen_;
};

/// Never ends. Counts how long it is waited for, in waits of the usual length.
class Hanging final : public HereLauncher {
 public:
  LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override {
    waited += times_;
    seen_.doubtful = true;
    return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }
  void be_patient(double times) override { times_ = times; }

  double waited = 0;

 private:
  double times_ = 1;
  Disturbance seen_;
};

TEST(Conformance, AKernelThatHangsAtOnceIsNotWaitedForInEveryCase) {
  Variant v = *find_variant("safe_block/f32@host");
  const auto hanging = std::make_shared<Hanging>();
  v.launcher = hanging;
  v.run = {};
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.threads = 1;
  o.only = {"families", "shapes", "rows", "layout", "repeat", "calls", "batch"};
  const ConformanceResult r = run_conformance([&] { return v; }, o);
  EXPECT_GT(std::count_if(r.records.begin(), r.records.end(),
                          [](const Record& one) { return one.status == Status::hung; }),
            7);
  EXPECT_LT(hanging->waited, 90);
}

ConformanceResult check_losing(FaultKind want, int times) {
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<Losing>(v, lost_for_want(want, "none was to be had"), times);
  v.run = {};
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes", "families", "repeat"};
  o.narrow.V = 1025;
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

TEST(Conformance, ALostCaseIsTriedAgainAloneAndElseIsNoPartOfAPass) {
  for (const FaultKind want : {FaultKind::memory, FaultKind::time}) {
    const ConformanceResult r = check_losing(want, 3);
    EXPECT_EQ(failures(r), "");
    EXPECT_EQ(r.executed, r.planned) << name(want);
    for (const Record& one : r.records) EXPECT_EQ(one.status, Status::pass) << one.reason;
  }
  const ConformanceResult memory = check_losing(FaultKind::memory, 1 << 30);
  for (const Record& one : memory.records) {
    EXPECT_EQ(one.status, Status::unsupported) << one.reason;
    EXPECT_EQ(one.wants, FaultKind::memory);
  }
  const ConformanceResult time = check_losing(FaultKind::time, 1 << 30);
  EXPECT_EQ(time.executed, 0);
  for (const Record& one : time.records) {
    EXPECT_EQ(one.status, Status::not_run);
    EXPECT_EQ(one.reason, "none was to be had");
    EXPECT_EQ(one.wants, FaultKind::time);
  }
}

TEST(Conformance, StateBetweenCallsIsSaidOfKernelsThatKeepIt) {
  const Mutant& keeps = *find_mutant_of("right_for_ten_calls");
  const ConformanceResult r = check(keeps.variant, {"shapes", "calls"}, {}, true);
  const auto kept = diagnose(r.records);
  ASSERT_EQ(kept.size(), 1u) << failures(r);
  EXPECT_EQ(kept[0].group, "calls");
  EXPECT_NE(kept[0].likely.find("state is kept from call to call"), std::string::npos) << kept[0].likely;
  EXPECT_NE(kept[0].first->reproduce.find(" --only calls "), std::string::npos) << kept[0].first->reproduce;
  ASSERT_EQ(kept[0].also.size(), 1u) << failures(r);
  EXPECT_TRUE(kept[0].also[0].starts_with("shapes (")) << kept[0].also[0];
  // Wrong on +inf in any call, also alone: nothing reaches the next call.
  Narrowing n;
  n.setup = "after_special";
  const ConformanceResult s = check(find_mutant_of("infinity_wins")->variant, {"calls"}, n, true);
  const auto found = diagnose(s.records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].likely, "") << failures(s);
  EXPECT_FALSE(found[0].passes_alone);
}

}  // namespace
}  // namespace assay::conformance
