// SPDX-License-Identifier: Apache-2.0
// The k that undeclared kernels are tried with, and two words that the search proposes: order=any of a top-k
// and pos_inf=nan of an lse. The kernels are serial and run in this process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/declaration.hpp"

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

}  // namespace
}  // namespace assay::conformance
