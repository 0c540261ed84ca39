// SPDX-License-Identifier: Apache-2.0
// The sweep of a kernel that is launched and timed elsewhere, as the kernel of a file is: its speed comes
// into the certificate, and a kernel that crashes, hangs or refuses there leaves a certificate that says so.
// The launcher here has a clock of its own, so that no GPU is needed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/test_folder.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/cli/adopt/steps.hpp"
#include "reports/data/files.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

constexpr double kMicroseconds = 7;

/// Launches a kernel of the host executor, and says that each launch took 7 us. From the launch `from` on,
/// the outcome is another one.
class ClockOfItsOwn : public Launcher {
 public:
  /// What it does where it takes itself for timed.
  enum class Cheat { none, skips_what_is_no_nan, keeps_its_first_outputs, says_half, says_half_of_samples };
  explicit ClockOfItsOwn(Cheat cheat) : cheat_(cheat) {}
  explicit ClockOfItsOwn(LaunchOutcome outcome = {}, int from = 0, bool wrong = false)
      : outcome_(std::move(outcome)), from_(from), wrong_(wrong) {}

  LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override {
    return outcome_;
  }
  std::array<LaunchOutcome, 2> launch_both(const Variant&, const Problem&, std::array<Images*, 2>,
                                           const LaunchOptions&) override {
    return {};
  }
  std::string cannot(const LaunchOptions&) const override { return {}; }
  bool on_device() const override { return false; }
  void restart() override {}

  std::string cannot_time() const override { return {}; }
  TimedOutcome time(const Variant&, const Problem& problem, const TimedSets& sets,
                    const TimedLaunches& launches) override {
    if (!outcome_.ok() && calls_++ >= from_) return {0, outcome_};
    const TimedSets::At at = sets.at(launches.first);
    auto* const memory = static_cast<std::byte*>(sets.memory);
    const Buffers b{.logits = memory + at.logits, .probs = memory + at.values};
    float before = 0;
    std::memcpy(&before, b.probs, sizeof before);
    LaunchOutcome o;
    const auto bytes = static_cast<std::size_t>(problem.rows * problem.V) * sizeof(float);
    if (cheat_ == Cheat::keeps_its_first_outputs && outputs_.size() == bytes)
      std::memcpy(b.probs, outputs_.data(), bytes);
    else if (cheat_ != Cheat::skips_what_is_no_nan || std::isnan(before))
      o = call_on_host(*find_variant("safe_block/f32@host"), problem, b, 0, 0);
    const auto* const written = static_cast<const std::byte*>(b.probs);
    outputs_.assign(written, written + bytes);
    if (wrong_) std::memset(memory + at.values, 0, 4);
    open_ = true;
    // It is launched once for all, and the time that passes is what it would be on a device.
    const auto count = static_cast<double>(launches.count);
    const bool lies = cheat_ == Cheat::says_half ||
                      (cheat_ == Cheat::says_half_of_samples && launches.count < kTimingRules.most_launches);
    TimedOutcome out{kMicroseconds * count, o, 200 + (kMicroseconds + 3) * count, 10 + 3 * count, false};
    if (lies) out.us /= 2;
    return out;
  }
  void forget_sets() override { open_ = false; }
  bool open() const { return open_; }

 private:
  Cheat cheat_ = Cheat::none;
  std::vector<std::byte> outputs_;
  LaunchOutcome outcome_;
  int from_ = 0, calls_ = 0;
  bool wrong_ = false, open_ = false;
};

class ForeignSpeed : public testing::Test {
 protected:
  Certificate swept(const std::shared_ptr<ClockOfItsOwn>& launcher,
                    const Limits& limits = undeclared_limits()) {
    Variant v = *find_variant("safe_block/f32@host");
    v.variant = "mine", v.backend = Backend::plugin, v.origin = "mine.cu";
    v.run = {}, v.launcher = launcher, v.limits = limits;
    StepOptions o;
    o.host_speed = true;
    o.sweep_sizes = sizes_;
    AdoptionFacts facts;
    Certificate c;
    c.steps.push_back({.name = "check", .state = Status::pass, .executed = 1});
    c.kernels.emplace_back();
    c.kernels[0].key = v.key(), c.kernels[0].passed = 1;
    c.cases.emplace_back();
    const OutFolder out((own_.path() / "out").string());
    if (!resumed_) set_sweep_aside(out.path());
    sweep_step({{v, v.origin, [v] { return v; }}}, o, out.path(), facts);
    add_sweep(c, facts, read_facts<SweepRecord>(out / "sweep" / "sweep.jsonl"));
    conclude(c, false);
    return c;
  }
  static bool has(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }
  TestFolder own_;
  std::vector<std::int64_t> sizes_ = {64};
  bool resumed_ = false;
};

TEST_F(ForeignSpeed, IsInTheCertificate) {
  const auto launcher = std::make_shared<ClockOfItsOwn>();
  const Certificate c = swept(launcher);
  EXPECT_EQ(c.steps.back().state, Status::pass) << c.steps.back().words;
  EXPECT_EQ(c.verdict, Verdict::pass);
  ASSERT_EQ(c.speed.size(), 1u);
  EXPECT_EQ(c.speed[0].key, "mine/f32@plugin");
  EXPECT_EQ(c.speed[0].verified, Status::pass);
  EXPECT_DOUBLE_EQ(c.speed[0].median_us.value_or(0), kMicroseconds);
  EXPECT_TRUE(c.speed[0].share_of_copy);
  EXPECT_FALSE(launcher->open()) << "the memory is gone, and the launcher was not told";
}

TEST_F(ForeignSpeed, ACrashOrAHangLeavesACertificateThatSaysSo) {
  // The first launch of a shape, and one of those that are timed.
  for (const int from : {0, 3})
    for (const auto& [ended, word] : {std::pair{Ended::crashed, "crashed"}, std::pair{Ended::hung, "hung"}}) {
      const Certificate c =
          swept(std::make_shared<ClockOfItsOwn>(LaunchOutcome{"illegal address", ended}, from));
      SCOPED_TRACE(c.steps.back().words);
      EXPECT_EQ(c.steps.back().state, Status::inconclusive);
      EXPECT_TRUE(has(c.steps.back().words, std::string(word) + " while it was timed: illegal address"));
      EXPECT_TRUE(has(c.steps.back().words, "mine/f32@plugin, 4 rows, V = 64"));
      EXPECT_EQ(c.steps.back().command, "assay adopt mine.cu");
      EXPECT_EQ(c.verdict, Verdict::inconclusive);
      EXPECT_TRUE(c.speed.empty());
    }
}

TEST_F(ForeignSpeed, WhatTheMachineLacksOrTheKernelRefusesIsAStepThatDidNotRun) {
  const LaunchOutcome lost = lost_for_want(FaultKind::memory, "memory: the device has none left");
  const LaunchOutcome refused{"returned status 1", Ended::fault, {}, 0, FaultKind::returned_status};
  for (const LaunchOutcome& o : {lost, refused}) {
    const Certificate c = swept(std::make_shared<ClockOfItsOwn>(o));
    EXPECT_EQ(c.steps.back().state, Status::not_run) << c.steps.back().words;
    EXPECT_EQ(c.verdict, Verdict::pass);
    EXPECT_TRUE(has(c.not_proved.front(), "sweep: no speed was measured: ")) << c.not_proved.front();
    EXPECT_TRUE(has(c.not_proved.front(), o.fault)) << c.not_proved.front();
  }
}

TEST_F(ForeignSpeed, NothingOfAnOlderKernelOfTheSameKeyIsTaken) {
  sizes_ = {64, 96};
  const Certificate wrong = swept(std::make_shared<ClockOfItsOwn>(LaunchOutcome(), 0, true));
  EXPECT_EQ(wrong.verdict, Verdict::fail);
  sizes_ = {96};
  const Certificate right = swept(std::make_shared<ClockOfItsOwn>());
  EXPECT_EQ(right.verdict, Verdict::pass) << right.steps.back().words;
  ASSERT_EQ(right.speed.size(), 1u);
  EXPECT_EQ(right.speed[0].V, 96);
  const std::filesystem::path kept = own_.path() / "out" / "sweep" / "sweep.old.jsonl";
  EXPECT_NE(read_file(kept).find("\"V\":64"), std::string::npos) << "somebody's times are lost";
  // Nor where the older run was interrupted, and this one has other shapes.
  sizes_ = {64}, resumed_ = true;
  const Certificate other = swept(std::make_shared<ClockOfItsOwn>());
  ASSERT_EQ(other.speed.size(), 1u);
  EXPECT_EQ(other.speed[0].V, 64);
}

TEST_F(ForeignSpeed, AResumedRunCountsEachConfigurationOnce) {
  sizes_ = {64, 96};
  swept(std::make_shared<ClockOfItsOwn>());
  resumed_ = true;
  const LaunchOutcome crash{"illegal address", Ended::crashed};
  const Certificate again = swept(std::make_shared<ClockOfItsOwn>(crash));  // it would fail, were it launched
  EXPECT_EQ(again.steps.back().state, Status::pass) << again.steps.back().words;
  EXPECT_EQ(again.steps.back().executed, 2);
  EXPECT_EQ(again.speed.size(), 2u);
  resumed_ = false;
  const LaunchOutcome refused{"returned status 1", Ended::fault, {}, 0, FaultKind::returned_status};
  for (const bool resumed : {false, true}) {
    resumed_ = resumed;
    const Certificate none = swept(std::make_shared<ClockOfItsOwn>(refused));
    EXPECT_EQ(none.steps.back().state, Status::not_run) << none.steps.back().words;
    EXPECT_EQ(none.steps.back().executed, 0);
  }
}

TEST_F(ForeignSpeed, ACrashIsNamedBeforeAShapeOutsideTheLimits) {
  Limits limits = undeclared_limits();
  limits.V_multiple = 32;
  sizes_ = {63, 64};
  const Certificate c =
      swept(std::make_shared<ClockOfItsOwn>(LaunchOutcome{"illegal address", Ended::crashed}), limits);
  EXPECT_TRUE(has(c.steps.back().words, "V = 64: crashed while it was timed")) << c.steps.back().words;
  EXPECT_FALSE(has(c.steps.back().words, "V = 63")) << c.steps.back().words;
}

TEST_F(ForeignSpeed, AFolderWithTimesOfAnotherMachineEndsNoAdoption) {
  swept(std::make_shared<ClockOfItsOwn>());
  const std::filesystem::path file = own_.path() / "out" / "sweep" / "sweep.jsonl";
  std::string text = read_file(file);
  const std::size_t at = text.find("\"gpu\":\"");
  ASSERT_NE(at, std::string::npos) << text;
  for (std::size_t i = at; i != std::string::npos; i = text.find("\"gpu\":\"", i + 1))
    text.insert(i + 7, "another ");
  write_files({{file, text}});
  resumed_ = true;
  sizes_ = {96};
  const Certificate c = swept(std::make_shared<ClockOfItsOwn>());
  EXPECT_EQ(c.steps.back().state, Status::not_run) << c.steps.back().words;
  EXPECT_TRUE(has(c.steps.back().words, "holds records of another ")) << c.steps.back().words;
  EXPECT_EQ(c.verdict, Verdict::pass);
}

TEST_F(ForeignSpeed, WrongOutputsWhileItIsTimedAreAFailure) {
  const Certificate c = swept(std::make_shared<ClockOfItsOwn>(LaunchOutcome(), 0, true));
  EXPECT_EQ(c.steps.back().state, Status::fail) << c.steps.back().words;
  EXPECT_TRUE(has(c.steps.back().words, "verification: ")) << c.steps.back().words;
  EXPECT_EQ(c.verdict, Verdict::fail);
  EXPECT_TRUE(c.speed.empty());
}

TEST_F(ForeignSpeed, WhoIsRightOnlyWhenNotTimedIsAFailure) {
  using Cheat = ClockOfItsOwn::Cheat;
  sizes_ = {64, 96, 128, 160};
  for (const auto& [cheat, words] :
       {std::pair{Cheat::skips_what_is_no_nan, "verification"},
        std::pair{Cheat::keeps_its_first_outputs, "verification"},
        std::pair{Cheat::says_half, "by the clock of this process"},
        std::pair{Cheat::says_half_of_samples, "us for a launch of a sample, and 7 us for one of"}}) {
    const Certificate c = swept(std::make_shared<ClockOfItsOwn>(cheat));
    SCOPED_TRACE(c.steps.back().words);
    EXPECT_EQ(c.steps.back().state, Status::fail);
    EXPECT_TRUE(has(c.steps.back().words, words));
    EXPECT_EQ(c.verdict, Verdict::fail);
  }
}

TEST_F(ForeignSpeed, AClaimBeyondTheMachineIsAFailure) {
  sizes_ = {65536};  // 2 MB are moved, and no memory moves them in 7 us
  const Certificate c = swept(std::make_shared<ClockOfItsOwn>());
  EXPECT_EQ(c.steps.back().state, Status::fail) << c.steps.back().words;
  EXPECT_TRUE(has(c.steps.back().words, "of the fastest way in which this machine moves as many bytes"))
      << c.steps.back().words;
  EXPECT_EQ(c.verdict, Verdict::fail);
  EXPECT_TRUE(c.speed.empty());
}

TEST_F(ForeignSpeed, AKernelThatTakesOneLengthIsTimedAtThatLength) {
  Limits limits = undeclared_limits();
  limits.V_multiple = 48, limits.max_V = 100, limits.max_rows = 16;
  const Certificate c = swept(std::make_shared<ClockOfItsOwn>(), limits);
  ASSERT_EQ(c.speed.size(), 2u) << c.steps.back().words;
  for (const CertifiedSpeed& s : c.speed) EXPECT_EQ(s.V, 96);
  limits.max_rows = 0, limits.min_rows = 5000;
  const Certificate none = swept(std::make_shared<ClockOfItsOwn>(), limits);
  EXPECT_EQ(none.steps.back().state, Status::not_run) << none.steps.back().words;
  EXPECT_EQ(none.verdict, Verdict::pass);
}

}  // namespace
}  // namespace assay
