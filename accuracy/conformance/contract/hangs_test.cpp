// SPDX-License-Identifier: Apache-2.0
// A kernel that always hangs is judged after a few launches, and not after one wait for each case.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

TEST(Hangs, ThreeShowItAndTwoSecondsMoreEndIt) {
  Hangs h;
  h.answered();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(h.shown());
    h.saw(std::chrono::hours(1));
  }
  EXPECT_TRUE(h.shown());
  EXPECT_FALSE(h.over()) << "what showed it does not count";
  h.saw(std::chrono::seconds(1));
  EXPECT_FALSE(h.over());
  h.saw(std::chrono::seconds(1));
  EXPECT_TRUE(h.over());
  EXPECT_EQ(h.why(), "left, because 5 launches of this kernel hung");
}

TEST(Hangs, AKernelThatNeverAnsweredIsLeftAtOnce) {
  Hangs hangs, crashes, some;
  for (int i = 0; i < Hangs::kShown; ++i) hangs.saw({});
  EXPECT_TRUE(hangs.over());
  for (int i = 0; i < Hangs::kMostCrashes; ++i) {
    EXPECT_FALSE(crashes.over());
    crashes.saw_crash();
    crashes.forget_crashes();
    some.saw_crash();
  }
  EXPECT_TRUE(crashes.over());
  EXPECT_EQ(crashes.why(), "left, because the first 6 launches of this kernel crashed");
  some.answered();
  EXPECT_FALSE(some.over());
}

TEST(Hangs, UntilOneHasAnsweredLaunchesAreMadeOneAtATime) {
  Hangs h;
  std::atomic<int> at_once{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto turn = h.turn();
      most = std::max<int>(most, ++at_once);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --at_once;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(h.turn().owns_lock());
  h.answered();
  EXPECT_FALSE(h.turn().owns_lock());
}

/// Launches that wait behind others are not made once nobody wants them.
TEST(Hangs, LaunchesOfAThreadAreMadeWhileTheyAreWanted) {
  bool wanted = true;
  EXPECT_TRUE(LaunchesWhile::go_on());
  {
    const LaunchesWhile one([&] { return wanted; });
    EXPECT_TRUE(LaunchesWhile::go_on());
    EXPECT_FALSE(one.left());
    wanted = false;
    std::thread([] { EXPECT_TRUE(LaunchesWhile::go_on()); }).join();
    EXPECT_FALSE(LaunchesWhile::go_on());
    EXPECT_TRUE(one.left());
  }
  EXPECT_TRUE(LaunchesWhile::go_on());
}

/// Every launch hangs. This is only said, so that the test takes no wait.
class AlwaysHangs final : public HereLauncher {
 public:
  explicit AlwaysHangs(int& launches) : launches_(launches) {}
  LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override {
    ++launches_;
    return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
  }

 private:
  int& launches_;
};

TEST(Hangs, AKernelThatAlwaysHangsIsLeft) {
  int launches = 0;
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.threads = 1;
  o.hangs = std::make_shared<Hangs>();
  std::vector<std::string> told;
  o.tell = [&](const std::string& words) { told.push_back(words); };
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<AlwaysHangs>(launches);
  v.run = {};
  const ContractedResult r =
      run_within_contract([&] { return v; }, o, "", [](const std::string&) { return std::string(); });
  const auto count = [&](Status s) {
    return std::count_if(r.result.records.begin(), r.result.records.end(),
                         [&](const Record& one) { return one.status == s; });
  };
  EXPECT_GE(count(Status::hung), 3);
  EXPECT_LT(launches, 6) << "of " << r.result.records.size() << " cases";
  EXPECT_EQ(count(Status::pass), 0);
  EXPECT_TRUE(std::any_of(r.result.records.begin(), r.result.records.end(), [](const Record& one) {
    return one.reason.starts_with("left, because ") && one.reason.ends_with(" launches of this kernel hung");
  }));
  EXPECT_GE(told.size(), 1u);
}

/// Notes how many rows each launch has. Every launch hangs, or none does.
class NotesRows final : public HereLauncher {
 public:
  NotesRows(Variant inner, bool hangs, std::vector<std::int64_t>& rows)
      : inner_(std::move(inner)), hangs_(hangs), rows_(rows) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    rows_.push_back(p.rows);
    if (!hangs_) return assay::launch(inner_, p, images, o);
    seen_.doubtful = true;
    return {"nothing came back", Ended::hung, {}, 0, FaultKind::no_answer};
  }
  Disturbance disturbance() override { return std::exchange(seen_, {}); }

 private:
  Variant inner_;
  bool hangs_;
  std::vector<std::int64_t>& rows_;
  Disturbance seen_;
};

std::vector<Record> run_noting(bool hangs, std::vector<std::int64_t>& rows, ConformanceOptions o) {
  o.extent = Extent::quick;
  o.threads = 1;
  if (!o.hangs) o.hangs = std::make_shared<Hangs>();
  Variant v = *find_variant("safe_block/f32@host");
  v.launcher = std::make_shared<NotesRows>(v, hangs, rows);
  v.run = {};
  return run_conformance([&] { return v; }, o).records;
}

// The wait grows with the rows: 16,385 of them may take 40 seconds.
TEST(Hangs, AFewRowsShowThatAKernelHangsAndNotTheLongWaitForMany) {
  ConformanceOptions o;
  o.only = {"rows"};
  o.narrow.V = 7;
  o.narrow.rows = 16385;
  std::vector<std::int64_t> rows;
  for (const Record& r : run_noting(true, rows, o)) {
    EXPECT_EQ(r.status, Status::hung);
    EXPECT_EQ(r.rows, 16385);
    EXPECT_TRUE(r.reason.starts_with("3 rows of the same length: nothing came back")) << r.reason;
    EXPECT_NE(r.reproduce.find("--rows 16385"), std::string::npos) << r.reproduce;
  }
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 16385), 0);
  // One that comes back is tried on few rows once.
  rows.clear();
  o.hangs = std::make_shared<Hangs>();
  for (int i = 0; i < 2; ++i)
    for (const Record& r : run_noting(false, rows, o)) EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 3), 1);
  EXPECT_GE(std::count(rows.begin(), rows.end(), 16385), 2);
}

TEST(Hangs, TheSecondLookLosesNoHang) {
  ConformanceOptions o;
  o.only = {"shapes", "rows"};
  o.hangs = std::make_shared<Hangs>();
  o.hangs->answered();
  o.hangs->leave();  // the third hang is the last
  std::vector<std::int64_t> rows;
  int hung = 0;
  for (const Record& r : run_noting(true, rows, o)) {
    hung += r.status == Status::hung;
    EXPECT_TRUE(r.status == Status::hung || r.reason.starts_with("left, because ")) << r.reason;
  }
  EXPECT_EQ(hung, 3);
  // The last launch is the second look: it takes a case of the fewest rows.
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.back(), *std::min_element(rows.begin(), rows.end()));
}

using std::chrono::seconds;

/// A kernel for multiples of 4 up to 1024; other lengths end its process. Each death takes a second.
void launch(Deaths& deaths, std::int64_t V) { deaths.saw(V, 256, V % 4 != 0 || V > 1024, seconds(1)); }

TEST(Deaths, LengthsThatLiveAreNeverLeftOut) {
  Deaths deaths;
  for (std::int64_t V = 1; V < 3000; V += 7) launch(deaths, V);
  for (std::int64_t V = 8; V <= 1000; V += 4) EXPECT_FALSE(deaths.leaves_out(V, 256, 1)) << V;
}

TEST(Deaths, OfOthersOneInSixteenIsLaunched) {
  Deaths deaths;
  for (std::int64_t V = 4; V <= 1024; V += 4) launch(deaths, V);
  for (int n = 0; n < 18; ++n) launch(deaths, n % 2 == 0 ? 1 + 2 * n : 1028 + 4 * n);
  for (const std::int64_t V : {33, 1001, 1028, 4096, 100000}) {
    int launched = 0;
    for (std::uint64_t which = 0; which < 160; ++which) launched += !deaths.leaves_out(V, 256, which);
    EXPECT_EQ(launched, 10) << V;
  }
  EXPECT_EQ(deaths.leaves_out(33, 256, 1).why, Why::not_tried);
  EXPECT_TRUE(deaths.leaves_out(33, 256, 1).sentence.starts_with("not tried: V = 33: "));
}

TEST(Deaths, ALengthThatLivesAfterAllWidensTheRule) {
  Deaths deaths;
  for (int n = 0; n < 20; ++n) launch(deaths, 33);
  for (const std::int64_t V : {64, 128, 256}) launch(deaths, V);
  EXPECT_TRUE(deaths.leaves_out(36, 256, 1)) << "64 divides all that live";
  launch(deaths, 36);
  EXPECT_FALSE(deaths.leaves_out(72, 256, 1));
  EXPECT_FALSE(deaths.leaves_out(2048, 256, 1)) << "nothing longer died";
  EXPECT_TRUE(deaths.leaves_out(34, 256, 1));
}

TEST(Deaths, TheMoreDieTheFewerAreLaunched) {
  Deaths deaths;
  const auto launched = [&] {
    int n = 0;
    for (std::uint64_t which = 0; which < 1024; ++which) n += !deaths.leaves_out(33, 256, which);
    return n;
  };
  launch(deaths, 64);
  for (const auto& [most, n] : {std::pair(23, 64), std::pair(31, 16), std::pair(100, 1)}) {
    for (int dead = most == 23 ? 0 : most == 31 ? 23 : 31; dead < most; ++dead) launch(deaths, 33);
    EXPECT_EQ(launched(), n) << most;
  }
}

TEST(Deaths, AreOfAddressesToo) {
  Deaths deaths;
  const auto run = [&](std::int64_t V, std::int64_t alignment) {
    deaths.saw(V, alignment, alignment < 16, seconds(1));
  };
  for (int n = 0; n < 9; ++n)
    for (const std::int64_t alignment : {4, 8, 16, 256}) run(64, alignment);
  EXPECT_TRUE(deaths.leaves_out(64, 4, 1)) << "its length lives elsewhere";
  EXPECT_TRUE(deaths.leaves_out(64, 8, 1));
  EXPECT_FALSE(deaths.leaves_out(64, 8, 16));
  EXPECT_FALSE(deaths.leaves_out(64, 16, 1));
  // Once a launch at such an address lives, the address is not the cause.
  deaths.saw(64, 4, false, seconds(1));
  EXPECT_FALSE(deaths.leaves_out(64, 8, 1));
}

TEST(Deaths, FewOrQuickOnesLeaveNothingOut) {
  Deaths few, quick;
  for (int n = 0; n + 1 < Deaths::kMost; ++n) launch(few, 33);
  for (int n = 0; n < 1000; ++n) quick.saw(33, 256, true, std::chrono::milliseconds(2));
  EXPECT_FALSE(few.leaves_out(33, 256, 1));
  EXPECT_FALSE(quick.leaves_out(33, 256, 1));
}

TEST(Deaths, WhereNoLengthLivesSomeAreLaunched) {
  Deaths deaths;
  for (int n = 0; n < 20; ++n) launch(deaths, 33);
  EXPECT_TRUE(deaths.leaves_out(64, 256, 3));
  EXPECT_FALSE(deaths.leaves_out(64, 256, 16));
}

}  // namespace
}  // namespace assay::conformance
