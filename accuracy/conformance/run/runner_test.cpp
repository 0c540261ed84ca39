// SPDX-License-Identifier: Apache-2.0
// The runner alone: cases that name their own kernels, and kernels that cannot be launched here.
#include "accuracy/conformance/run/runner.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

FamilyLists one_size(std::int64_t V) {
  FamilyLists lists;
  lists.families = {"normal_1", "ties"};
  lists.sizes = [V](const std::string&, Dtype) { return std::vector{V}; };
  lists.rows = [](const std::string&, Dtype, std::int64_t) { return std::vector<std::int64_t>{2}; };
  lists.picks = [](const Variant&, const std::string&, std::int64_t) { return std::vector<Pick>{1, 5}; };
  return lists;
}

TEST(Runner, UnitsAreByDtypeAndFamilyWithEveryKernelInThem) {
  const Variant* const f32 = find_variant("safe_block/f32@host");
  const Variant* const f16 = find_variant("safe_block/f16@host");
  const Variant* const topk = find_variant("online_topk_block/f32@host");
  const std::vector<const Variant*> variants = {f32, f16, topk};
  const std::vector<Unit> units = family_units(variants, one_size(33));
  ASSERT_EQ(units.size(), 4u);
  EXPECT_EQ(units[0].cases.size(), 1u);
  EXPECT_EQ(units[0].cases[0].variant, f16);
  ASSERT_EQ(units[3].cases.size(), 3u);
  for (const ConformanceCase& c : units[3].cases) EXPECT_EQ(c.family, "ties");
  EXPECT_EQ(units[3].cases[0].variant, f32);
  EXPECT_EQ(units[3].cases[1].pick.k, 1);
  EXPECT_EQ(units[3].cases[2].pick.k, 5);
  EXPECT_EQ(units[3].cases[2].variant, topk);
}

TEST(Runner, WhatCanNotBeLaunchedIsNotRunAndTheOthersAre) {
  const std::string why = unavailable_reason(Backend::cuda);
  if (why.empty()) GTEST_SKIP() << "a GPU is here";
  const Variant& host = *find_variant("safe_block/f32@host");
  Variant away = host;
  away.backend = Backend::cuda;
  away.run = {};
  const std::vector<const Variant*> variants = {&away, &host};
  const Group group{"families", "", nullptr};
  UnitPlan plan;
  for (const Unit& u : family_units(variants, one_size(33))) plan.add(group, u);
  for (const Variant* v : variants) plan.add(group, probe_unit({kProbeFamily, 7, 1, v->op, 0, {}, v}));
  ConformanceOptions options;
  options.report = true;
  options.seed = 3;
  std::int64_t told = 0;
  options.progress = [&](std::int64_t done, std::int64_t planned) {
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(planned, 6);
  };
  Runner runner(std::move(plan), options);
  runner.run(
      {}, [] { return Variant(); }, 2);
  EXPECT_EQ(told, 6);
  ASSERT_EQ(runner.records.size(), 6u);
  EXPECT_EQ(executed(runner.records), 3);
  for (std::size_t i = 0; i < 6; ++i) {
    const Record& r = runner.records[i];
    const bool here = i % 2 == 1;
    EXPECT_EQ(r.key, here ? "safe_block/f32@host" : "safe_block/f32@cuda");
    EXPECT_EQ(r.status, here ? Status::pass : Status::not_run) << r.reason;
    EXPECT_EQ(r.reason, here ? "" : why);
    EXPECT_EQ(r.group, "");
    EXPECT_EQ(r.reproduce, "assay report --key " + r.key + " --family " + r.family +
                               (i < 4 ? " --V 33 --rows 2 --seed 3" : ""));
  }
}

// A case that hung once is looked at again. The worker's own time decides whether the kernel is slow or keeps
// state. A launcher tells the times here, so that the machine's load has no part in the test.

/// Says of its first launch that it hung, and of every later one that it took `took` seconds.
class HungOnce final : public HereLauncher {
 public:
  HungOnce(Variant inner, double hung, double took) : inner_(std::move(inner)), hung_(hung), took_(took) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    if (std::exchange(first_, false)) {
      seen_.doubtful = true;
      seen_.own_seconds = hung_;
      return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
    }
    seen_.ended_seconds = took_;
    return assay::launch(inner_, p, images, o);
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

 private:
  Variant inner_;
  double hung_, took_;
  bool first_ = true;
  Disturbance seen_;
};

ConformanceResult check_hung(double hung, double took) {
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<HungOnce>(v, hung, took);
  v.run = {};
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes"};
  o.narrow.V = 257;
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

// A billionth of a second is less than any clock shows for a launch, and a million seconds are more.
TEST(SecondLook, TheWorkersOwnTimeDecidesAndNotTheClock) {
  for (const double hung : {1e-9, 1e6}) {
    int open = 0, again = 0;
    for (const Record& r : check_hung(hung, hung / 10).records) {
      EXPECT_TRUE(r.status == Status::pass || r.status == Status::inconclusive) << r.reason;
      open += r.status == Status::inconclusive && r.reason.starts_with("hung once");
    }
    EXPECT_EQ(open, 1) << hung << ": it is fast alone, and no pass";
    for (const Record& r : check_hung(hung, 0.8 * hung).records) {
      EXPECT_EQ(r.status, Status::pass) << r.reason;
      again += !r.at_first.empty();
    }
    EXPECT_EQ(again, 1) << hung << ": it is slow, and that is no fault";
  }
}

// Threads that share a launcher. Launches that are made together may disturb each other.

/// Notes which threads launch, and spoils the output of some lengths.
class Sharing final : public HereLauncher {
 public:
  enum class Spoils { nothing, among_others, always, lost_alone };
  Sharing(Variant inner, Spoils spoils) : inner_(std::move(inner)), spoils_(spoils) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    ++launches;
    alone += !LaunchesTogether::wanted();
    if (spoils_ == Spoils::lost_alone && !LaunchesTogether::wanted()) {
      seen_.lost = lost_for_want(FaultKind::memory, "memory: none is left");
      return seen_.lost;
    }
    LaunchOutcome outcome = assay::launch(inner_, p, images, o);
    const bool now = spoils_ == Spoils::always || (spoils_ != Spoils::nothing && LaunchesTogether::wanted());
    if (now && p.V == 257 && !images.probs.empty()) *reinterpret_cast<float*>(images.probs.payload()) = 0.75f;
    return outcome;
  }
  bool shares_launches() const override { return true; }
  void restart() override { ++restarts; }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

  std::atomic<int> launches{0}, alone{0}, restarts{0};

 private:
  Variant inner_;
  Spoils spoils_;
  inline static thread_local Disturbance seen_;
};

struct Shared {
  ConformanceResult result;
  std::shared_ptr<Sharing> first;
  int made = 0;
};

Shared check_shared(Sharing::Spoils spoils, std::vector<std::string> only, int threads) {
  const Variant inner = *find_variant("safe_block/f32@host");
  Shared s;
  const auto make = [&] {
    Variant v = inner;
    v.run = {};
    auto launcher = std::make_shared<Sharing>(inner, spoils);
    v.launcher = launcher;
    if (s.made++ == 0) s.first = launcher;
    return v;
  };
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = std::move(only);
  o.narrow.V = 257;
  o.threads = threads;
  s.result = run_conformance(make, o);
  return s;
}

TEST(Runner, ThreadsShareALauncherUnlessACaseWantsAProcessOfItsOwn) {
  const Shared one = check_shared(Sharing::Spoils::nothing, {"shapes", "repeat"}, 4);
  EXPECT_EQ(one.made, 1);
  EXPECT_GT(one.first->launches, 0);
  EXPECT_EQ(one.first->restarts, 0);
  const Shared both = check_shared(Sharing::Spoils::nothing, {"shapes", "calls"}, 4);
  EXPECT_GE(both.made, 2);
  EXPECT_LE(both.made, 3) << "few workers of their own";
  EXPECT_EQ(both.first->restarts, 0);
  for (const Shared* s : {&one, &both})
    for (const Record& r : s->result.records) EXPECT_EQ(r.status, Status::pass) << r.reason;
  const Shared alone = check_shared(Sharing::Spoils::nothing, {"shapes", "calls"}, 1);
  EXPECT_EQ(alone.made, 1) << "one thread has all cases";
}

TEST(Runner, WhatFailsAmongOthersIsLookedAtAloneAndStaysWrong) {
  using enum Sharing::Spoils;
  // A second look that shows nothing, for want of memory, does not take the first one back.
  for (const auto spoils : {among_others, always, lost_alone}) {
    const Shared s = check_shared(spoils, {"shapes"}, 4);
    EXPECT_GT(s.first->alone, 0);
    ASSERT_FALSE(s.result.records.empty());
    for (const Record& r : s.result.records) EXPECT_EQ(r.status, Status::fail) << r.reason;
    // The case passes by itself, unless it is wrong there, too.
    for (const Record& r : s.result.records) EXPECT_TRUE(spoils != always || r.alone != Alone::passes);
  }
}

}  // namespace
}  // namespace assay::conformance
