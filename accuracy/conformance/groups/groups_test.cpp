// SPDX-License-Identifier: Apache-2.0
// The row lengths V that the groups choose under declared limits, and the group that only launches.
#include "accuracy/conformance/groups/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "kernels/declaration.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/isolation/worker/second_thread.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

Variant declared(const char* key, const char* words) {
  Variant v = *find_variant(key);
  apply_declaration(words, v);
  return v;
}

TEST(NearestV, DenseRowsThatMustBeAlignedHaveALengthThatKeepsThemSo) {
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=8"), 259), 260);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16"), 1027), 1028);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16; V_multiple=6"), 1), 12);
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "dense=yes; alignment=16; max_V=1023"), 4099), 1020);
  // If a pitch can align the rows, every length is allowed.
  EXPECT_EQ(nearest_V(declared("online_block/f32@host", "alignment=16"), 1027), 1027);
  // One value per row is written, so only the logits are rows.
  EXPECT_EQ(nearest_V(declared("lse_block/bf16@host", "dense=yes; alignment=4"), 33), 34);
}

TEST(NearestV, OneRowMayHaveAnyLength) {
  const Variant v = declared("online_block/f16@host", "dense=yes; alignment=16");
  EXPECT_EQ(nearest_V(v, 259, 1), 259);
  EXPECT_EQ(nearest_V(v, 259, 3), 264);
  std::set<std::int64_t> of_one, of_several;
  for (const Unit& u : plan_shapes({v, Extent::quick, {}, 1, false}))
    for (const ConformanceCase& c : u.cases) (c.rows == 1 ? of_one : of_several).insert(c.V);
  // A kernel that stores 16 bytes at once writes behind one row of 259 halves, and nowhere else.
  for (std::int64_t V = 1; V <= 512; ++V) EXPECT_TRUE(of_one.contains(V)) << V;
  for (const std::int64_t V : of_several) EXPECT_EQ(V % 8, 0) << V;
  EXPECT_TRUE(of_several.contains(264));
}

TEST(Vocabularies, AreTriedOnAGpuAllAndOnTheHostTheCommonOnes) {
  const std::span<const Vocabulary> all = vocabularies();
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Vocabulary::V));
  const auto tried = [](Backend backend, Extent extent) {
    std::map<std::int64_t, std::set<std::string>> at;
    Variant v = *find_variant("online_block/f16@host");
    v.backend = backend;
    for (const Unit& u : plan_shapes({v, extent, {}, 1, false}))
      for (const ConformanceCase& c : u.cases)
        if (u.later) at[c.V].insert(c.family);
    return at;
  };
  const std::set<std::string> both = {"normal_1", kPeakAtEnds};
  for (const auto& [backend, extent] :
       {std::pair(Backend::cuda, Extent::quick), std::pair(Backend::host, Extent::normal)}) {
    const auto at = tried(backend, extent);
    EXPECT_GE(at.size(), all.size()) << name(backend);
    for (const Vocabulary& v : all)
      EXPECT_TRUE(at.contains(v.V) && at.at(v.V) == both) << name(backend) << ", " << v.V;
  }
  const auto quick = tried(Backend::host, Extent::quick);
  EXPECT_EQ(quick.size(), 4u);
  for (const auto& [V, families] : quick) EXPECT_EQ(families, both) << V;
}

TEST(QuickOnAGpu, EveryLengthTo4096EveryRemainderAndManyRowsAreTried) {
  Variant v = *find_variant("online_topk_block/f16@host");
  v.backend = Backend::cuda;
  const Planning p{v, Extent::quick, {}, 1, false};
  std::set<std::int64_t> lengths, by_256, of_4096;
  for (const Unit& u : plan_shapes(p))
    for (const ConformanceCase& c : u.cases) lengths.insert(c.V);
  for (std::int64_t V = 0; V <= 4096; ++V) EXPECT_TRUE(lengths.contains(V)) << V;
  for (const std::int64_t V : sizes_of_every_remainder()) {
    EXPECT_TRUE(V > 1 << 15 && lengths.contains(V)) << V;
    by_256.insert(V % 256), of_4096.insert(V % 4096 / 256);
  }
  EXPECT_EQ(by_256.size(), 256u);
  EXPECT_EQ(of_4096.size(), 16u);
  std::int64_t most = 0, longest = 0, of_vocabularies = 0;
  std::set<std::int64_t> many;
  for (const Unit& u : plan_big(p))
    for (const ConformanceCase& c : u.cases) {
      most = std::max(most, c.rows * c.V), longest = std::max(longest, c.V);
      of_vocabularies += c.V >= 32000 && c.rows > 4 * 2 * 131;
      if (c.rows >= 8192) many.insert(c.V);
    }
  EXPECT_GT(most, std::int64_t{1} << 31);
  EXPECT_GT(longest, 1 << 24);
  EXPECT_GE(of_vocabularies, 4);
  for (const std::int64_t V : {7, 128, 1024, 1500, 2048, 4096, 8192, 32768})
    EXPECT_TRUE(many.contains(V)) << V;
}

TEST(QuickOnAGpu, AKernelInHostMemoryIsSparedThat) {
  Variant v = *find_variant("online_topk_block/f16@host");
  v.backend = Backend::plugin;
  const Planning p{v, Extent::quick, {}, 1, false};
  EXPECT_TRUE(plan_big(p).empty());
  std::int64_t cases = 0;
  for (const Unit& u : plan_shapes(p)) cases += std::ssize(u.cases);
  EXPECT_LT(cases, 1100);
}

TEST(NearestV, IsALengthThatTheKernelTakes) {
  // No multiple of 128 halves lies within these limits; one row of 100 does.
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=256; max_V=100"), 4099), 100);
  EXPECT_EQ(nearest_V(declared("online_block/f16@host", "dense=yes; alignment=16; min_V=100; max_V=100"), 7),
            100);
}

TEST(NearestV, EveryGroupLeavesCasesUnderSuchALimit) {
  const Variant v = declared("online_block/f32@host", "dense=yes; alignment=16; rows_multiple=2");
  for (const Group& g : groups()) {
    if (std::string_view(g.name) == "operands" || std::string_view(g.name) == "schedules") continue;
    std::int64_t inside = 0, all = 0;
    for (const Unit& u : g.plan({v, Extent::quick, {}, 1, false}))
      for (const ConformanceCase& c : u.cases) {
        Problem p = problem_of(v, c.op, c.rows, c.V, c.pick, c.V);
        all += c.V > 0 && c.rows > 0;
        inside += c.V > 0 && c.rows > 0 && beyond_limits(v, p, 0).empty();
      }
    EXPECT_GT(2 * inside, all) << g.name << ": " << inside << " of " << all;
  }
}

ConformanceResult launches_of(Variant v) {
  ConformanceOptions o;
  o.only = {"launches"};
  o.extent = Extent::quick;
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

TEST(Launches, AreOfManyLengthsAndJudgedByTheirEndAlone) {
  Variant v = *find_variant("online_block/f32@host");
  const ConformanceResult right = launches_of(v);
  EXPECT_GE(right.planned, 8);
  for (const Record& r : right.records) EXPECT_EQ(r.status, Status::pass) << r.V << ": " << r.reason;
  // Wrong outputs are not the subject of this group. A launch that ends badly is; a refused one is not.
  v.run = [](const Problem&, const Buffers&, const Stream&) {};
  for (const Record& r : launches_of(v).records) EXPECT_EQ(r.status, Status::pass) << r.V << ": " << r.reason;
  v.run = [](const Problem& p, const Buffers&, const Stream&) {
    if (p.V > 1024) throw std::runtime_error("V");
  };
  for (const Record& r : launches_of(v).records)
    EXPECT_EQ(r.status, r.V > 1024 ? Status::unsupported : Status::pass) << r.V << ": " << r.reason;
}

}  // namespace

// What outputs hold before a launch: kernels that are right only where it is what a judge would write there.

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

namespace assay::isolation {

// Two launches at the same time on the host executor take turns, so that a fault that needs both is found
// every time and not by chance.

namespace {

/// Never ends: its thread lives as long as the process.
SecondThread& second() {
  static auto* const thread = [] {
    auto* const made = new SecondThread;
    made->start();
    return made;
  }();
  return *thread;
}

/// What two works write that call turn(step) for each of these steps.
std::string written(int turns, const std::vector<int>& steps) {
  std::mutex mutex;
  std::string all;
  second().both(turns, 5, [&](int who) {
    for (const int step : steps) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        all += who == 0 ? 'a' : 'b';
      }
      SecondThread::turn(step);
    }
  });
  return all;
}

TEST(TwoLaunches, ChangePlacesAtTheStepsThatAreAskedFor) {
  for (int again = 0; again < 20; ++again) {
    EXPECT_EQ(written(1, {1, 1, 1}), "ababab");
    EXPECT_EQ(written(1, {3, 2, 1, 3, 2, 1}), "aaabbbaaabbb");
    EXPECT_EQ(written(2, {3, 2, 3, 1}), "aabbaabb");
    EXPECT_EQ(written(3, {3, 1}), "abab");
  }
  const std::string free = written(0, {1, 1});
  EXPECT_EQ(free.size(), 4u);
  // Not more than a limited number of times.
  const std::string many = written(1, std::vector<int>(1000, 1));
  EXPECT_EQ(many.size(), 2000u);
  EXPECT_EQ(many.substr(0, 4), "abab");
  // Without a second work there is nobody to wait for.
  SecondThread::turn(1);
}

TEST(TwoLaunches, ALauncherThatLetsOneInAtATimeIsNotStopped) {
  auto* const own = new SecondThread;
  own->start();
  std::mutex lock;
  int done = 0;
  for (int round = 0; round < 5; ++round)
    own->both(1, 0.05, [&](int) {
      const std::lock_guard<std::mutex> one(lock);
      for (int i = 0; i < 3; ++i) SecondThread::turn(1);
      ++done;
    });
  EXPECT_EQ(done, 10);
}

TEST(TwoLaunches, AWorkThatCallsNoTurnRunsBesideItselfFromThenOn) {
  auto* const own = new SecondThread;
  own->start();
  own->both(1, 5, [](int) {});
  // Each waits for the other, which would not end if they ran one after the other.
  std::atomic<int> here{0};
  own->both(1, 5, [&](int) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(TwoLaunches, TheExecutorCallsAfterWarpsBlocksAndKernels) {
  static std::string steps;
  steps.clear();
  executor::take_turns([](int step) { steps += static_cast<char>('0' + step); });
  const auto two_halves = [](const void*) {
    executor::block_barrier(executor::Barrier::plain, 0, executor::Site::current());
  };
  executor::run({2}, {64}, 0, two_halves, nullptr);
  executor::take_turns(nullptr);
  executor::run({2}, {64}, 0, two_halves, nullptr);
  // Two blocks, and in each: the first warp to the barrier, the second through it, the rest of the first.
  EXPECT_EQ(steps, "333233321");
}

}  // namespace
}  // namespace assay::isolation
