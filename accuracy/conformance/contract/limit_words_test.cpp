// SPDX-License-Identifier: Apache-2.0
// The k that undeclared kernels are tried with, and two words that the search proposes: order=any of a top-k
// and pos_inf=nan of an lse. The kernels are serial and run in this process. Then what the rounds of a search
// run: what waits for the contract, what is kept, and what --fail-fast leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/declaration.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {
namespace {

Variant serial(Op op, std::function<void(const float* x, const Problem& p, float* y, std::int32_t* at)> row) {
  Variant v = strangers::here(0, [row](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r)
      row(static_cast<const float*>(b.logits) + r * p.in_pitch, p,
          static_cast<float*>(b.probs) + r * p.out_pitch,
          b.indices ? static_cast<std::int32_t*>(b.indices) + r * p.out_pitch : nullptr);
  });
  v.op = op;
  v.max_k = selects(op) ? kUndeclaredK : 0;
  v.claim = undeclared_claim(op);
  return v;
}

/// A top-k of the logits. `slots` changes the selected columns, which are sorted, before they are written.
Variant selecting(std::function<void(const float* x, const Problem& p, std::vector<std::int32_t>&)> slots) {
  return serial(Op::topk, [slots](const float* x, const Problem& p, float* y, std::int32_t* at) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(p.V));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::stable_sort(all, [&](std::int32_t i, std::int32_t j) {
      return std::isnan(x[i]) || std::isnan(x[j]) ? !std::isnan(x[i]) && std::isnan(x[j]) : x[i] > x[j];
    });
    std::vector<std::int32_t> taken = all;
    taken.resize(std::min(all.size(), static_cast<std::size_t>(p.k) + 1));  // one more than the slots
    slots(x, p, taken);
    for (std::size_t s = 0; s < static_cast<std::size_t>(p.k); ++s) {
      at[s] = s < all.size() ? taken[s] : -1;
      y[s] = at[s] < 0 ? 0 : x[at[s]];
    }
  });
}
using Slots = std::vector<std::int32_t>;
std::ptrdiff_t count_of(const Problem& p) { return std::min<std::int64_t>(p.k, p.V); }

struct Checked {
  std::string found = {}, within = {};
  std::int64_t failed = 0;
  std::set<int> k_of_failures = {};
};
Checked contracted(Variant v, std::vector<std::string> groups, const std::string& said = "") {
  apply_declaration(said, v);
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = std::move(groups);
  o.threads = 1;
  const ContractedResult ran =
      run_within_contract([&] { return v; }, o, said, [](const std::string&) { return std::string(); });
  Checked c{ran.contract.found, ran.contract.within()};
  for (const Record& r : ran.result.records)
    if (fails(r)) ++c.failed, c.k_of_failures.insert(r.k);
  return c;
}

TEST(LargeK, IsTriedWithMoreTiesThanK) {
  const Variant v = selecting([](const float*, const Problem&, Slots&) {});
  for (const Extent extent : {Extent::quick, Extent::normal}) {
    std::set<int> with_ties, others;
    for (const Unit& u : plan_families({v, extent, {}, 1, false}))
      for (const ConformanceCase& c : u.cases)
        if (c.family == "constant" && c.V > c.pick.k)
          with_ties.insert(c.pick.k);
        else if (c.family == "normal_3")
          others.insert(c.pick.k);
    for (const int k : {128, 300, 1000, 2048}) EXPECT_TRUE(with_ties.contains(k)) << k;
    EXPECT_LE(*others.rbegin(), 64);  // all families with all k would be too many
  }
}

TEST(LargeK, AListOfSixtyFourTiesIsRefused) {
  const Variant wrong = selecting([](const float* x, const Problem& p, Slots& slots) {
    std::size_t ties = 0;
    const auto last = static_cast<std::size_t>(count_of(p)) - 1;
    if (p.V == 0) return;
    const float kth = x[slots[last]];
    for (std::int32_t& at : slots)
      if (x[at] == kth && ++ties > 64) at = -1;
  });
  const Checked c = contracted(wrong, {"families"});
  EXPECT_EQ(c.found, "");
  EXPECT_GT(c.failed, 5);
  EXPECT_GT(*c.k_of_failures.begin(), 64);
}

TEST(OrderOfSlots, AnyIsFoundAndTheSetIsStillJudged) {
  const auto reversed = [](const Problem& p, Slots& slots) {
    std::reverse(slots.begin(), slots.begin() + count_of(p));
  };
  const Checked right = contracted(
      selecting([=](const float*, const Problem& p, Slots& slots) { reversed(p, slots); }), {"families"});
  EXPECT_EQ(right.found, "order=any");
  EXPECT_EQ(right.failed, 0);
  EXPECT_NE(right.within.find("slots in any order"), std::string::npos) << right.within;

  const std::pair<const char*, Variant> wrong[] = {
      {"the next one in place of the last", selecting([=](const float*, const Problem& p, Slots& slots) {
         if (p.V > p.k && p.k > 2) std::swap(slots[static_cast<std::size_t>(p.k) - 1], slots.back());
         reversed(p, slots);
       })},
      {"one twice", selecting([=](const float*, const Problem& p, Slots& slots) {
         if (count_of(p) > 2) slots[1] = slots[0];
         reversed(p, slots);
       })}};
  for (const auto& [what, v] : wrong) {
    EXPECT_GT(contracted(v, {"shapes"}, "order=any").failed, 10) << what;
    const Checked c = contracted(v, {"shapes"});
    EXPECT_EQ(c.found, "") << what;
    EXPECT_GT(c.failed, 10) << what;
  }
}

/// A sort that is wrong for some lengths is no order of its own.
TEST(OrderOfSlots, ASortThatFailsSomewhereIsAFault) {
  const Checked c = contracted(selecting([](const float*, const Problem& p, Slots& slots) {
                                 if (p.V > 1000) std::reverse(slots.begin(), slots.begin() + count_of(p));
                               }),
                               {"shapes"});
  EXPECT_EQ(c.found, "");
  EXPECT_GT(c.failed, 10);
}

TEST(LseOfInfinity, IsInfinityAndANanIsALimit) {
  const auto lse = [](float of_infinity) {
    return serial(Op::lse, [=](const float* x, const Problem& p, float* y, std::int32_t*) {
      if (p.V == 0) return;
      float m = -INFINITY, d = 0;
      bool nan = false;
      for (std::int64_t j = 0; j < p.V; ++j) m = std::fmax(m, x[j]), nan = nan || std::isnan(x[j]);
      for (std::int64_t j = 0; j < p.V; ++j) d += std::exp(x[j] - m);
      *y = nan ? NAN : m == INFINITY ? of_infinity : m == -INFINITY ? m : m + std::log(d);
    });
  };
  const Checked exact = contracted(lse(INFINITY), {"families"});
  EXPECT_EQ(exact.found, "");
  EXPECT_EQ(exact.failed, 0);
  const Checked nan = contracted(lse(NAN), {"families"});
  EXPECT_EQ(nan.found, "pos_inf=nan");
  EXPECT_EQ(nan.failed, 0);
  EXPECT_NE(nan.within.find("+inf gives NaN"), std::string::npos) << nan.within;
  EXPECT_EQ(nan.within.find("elsewhere"), std::string::npos) << nan.within;
  const Checked finite = contracted(lse(88), {"families"});
  EXPECT_EQ(finite.found, "");
  EXPECT_GT(finite.failed, 0);
  EXPECT_GT(contracted(lse(INFINITY), {"families"}, "pos_inf=nan").failed, 0);
}

/// Takes rows of a multiple of 32 elements, and counts the launches of other schedules.
class Multiples final : public HereLauncher {
 public:
  Multiples(Variant inner, int& scheduled, int& refused)
      : inner_(std::move(inner)), scheduled_(scheduled), refused_(refused) {}
  LaunchOutcome launch(const Variant&, const Problem& p, Images& images, const LaunchOptions& o) override {
    scheduled_ += o.schedule != 0;
    plain_of_96 += o.schedule == 0 && p.V == 96;
    if (p.V % 32 == 0) return assay::launch(inner_, p, images, o);
    refused_ += o.schedule != 0;
    return {"returned status 9", Ended::fault, {}, 0, FaultKind::returned_status};
  }

  int plain_of_96 = 0;

 private:
  Variant inner_;
  int &scheduled_, &refused_;
};

// What passed before a limit was found is not launched again within it.
TEST(Stages, APassThatALimitDoesNotChangeIsKept) {
  int scheduled = 0, refused = 0;
  Variant v = *find_variant("safe_block/f32@host");
  const auto launcher = std::make_shared<Multiples>(v, scheduled, refused);
  v.launcher = launcher;
  v.run = {};
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes", "rows"};
  o.threads = 1;
  o.target = "KERNEL";
  Variant told = v;
  told.limits.V_multiple = 32;
  const ConformanceResult declared = run_conformance([&] { return told; }, o);
  const int once = std::exchange(launcher->plain_of_96, 0);
  EXPECT_GT(once, 1);
  const ContractedResult found = run_within_contract(
      [&] { return v; }, o, "", [](const std::string& words) { return "KERNEL " + words; });
  EXPECT_EQ(found.contract.found, "V_multiple=32");
  EXPECT_EQ(launcher->plain_of_96, once);
  ASSERT_EQ(found.result.records.size(), declared.records.size());
  for (std::size_t i = 0; i < declared.records.size(); ++i) {
    const Record &a = found.result.records[i], &b = declared.records[i];
    EXPECT_EQ(identity(a), identity(b));
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.max_ulp, b.max_ulp);
    EXPECT_NE(a.reproduce.find("V_multiple=32"), std::string::npos) << a.reproduce;
  }
}

// Each round of the search for a contract makes few launches: the groups of Stage::later run once, within it.
TEST(Stages, WhatTakesManyLaunchesWaitsForTheContract) {
  for (const int threads : {1, 4}) {
    int scheduled = 0, refused = 0;
    Variant v = *find_variant("safe_block/f32@host");
    v.launcher = std::make_shared<Multiples>(v, scheduled, refused);
    v.run = {};
    ConformanceOptions o;
    o.extent = Extent::quick;
    o.only = {"shapes", "schedules"};
    o.threads = threads;
    const ContractedResult r =
        run_within_contract([&] { return v; }, o, "", [](const std::string&) { return std::string(); });
    EXPECT_EQ(r.contract.found, "V_multiple=32");
    std::int64_t schedules = 0;
    for (const Record& one : r.result.records) {
      EXPECT_NE(one.status, Status::not_run) << one.reason;
      schedules += one.group == "schedules" && one.status == Status::pass;
    }
    EXPECT_GT(schedules, 1);
    if (threads > 1) continue;  // some had begun when the first case was refused
    EXPECT_EQ(scheduled, 16 * schedules);
    EXPECT_EQ(refused, 0);
  }
}

TEST(Stages, WithFailFastTheRestIsLeftOnceACaseIsWrong) {
  Variant v = *find_variant("safe_block/f32@host");
  float off = 1.05f;
  v.run = [&off, run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    run(p, b, s);
    if (p.V > 100 && p.rows > 0) static_cast<float*>(b.probs)[0] *= off;
  };
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"shapes", "repeat"};
  o.threads = 1;
  const auto counted = [](const ConformanceResult& r) {
    std::map<std::string, int> n;
    for (const Record& one : r.records) {
      ++n[name(one.status)];
      if (one.why == Why::left) {
        EXPECT_EQ(one.reason, "left, because a case before it is wrong (--fail-fast)");
      } else {
        EXPECT_NE(one.status, Status::not_run) << one.reason;
      }
    }
    return n;
  };
  const auto declared = [&] { return counted(run_conformance([&] { return v; }, o)); };
  const auto searched = [&] {
    return counted(
        run_within_contract([&] { return v; }, o, "", [](const std::string&) { return std::string(); })
            .result);
  };
  const auto all = declared(), within = searched();
  EXPECT_GT(all.at("fail"), 100);
  EXPECT_GT(within.at("fail"), 100);
  o.fail_fast = true;
  const auto few = declared();
  EXPECT_GE(few.at("fail"), 1);
  EXPECT_LT(few.at("fail"), 10);
  EXPECT_GT(few.at("not_run"), 100);
  const auto left = searched();
  EXPECT_LT(left.at("fail"), 10);
  EXPECT_GT(left.at("not_run"), 100);
  // What an undeclared class may explain is judged to the end of the first stage.
  off = 1 + 1e-4f;
  const auto near = searched();
  EXPECT_GT(near.at("fail"), 100);
  EXPECT_GE(near.at("not_run"), 1);
  // A right kernel is judged whole, and so is one whose limits explain what fails.
  v = *find_variant("safe_block/f32@host");
  EXPECT_FALSE(declared().contains("not_run"));
  int scheduled = 0, refused = 0;
  v.launcher = std::make_shared<Multiples>(v, scheduled, refused);
  v.run = {};
  const auto limited = searched();
  EXPECT_FALSE(limited.contains("not_run") || limited.contains("fail"));
}

}  // namespace
}  // namespace assay::conformance
