// SPDX-License-Identifier: Apache-2.0
// The search for the largest error/bound: it climbs, it repeats itself bit for bit, it stays below 1 for a
// right kernel, and it keeps the row that refutes a wrong one.
#include "fuzz/search/largest_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/mutants/mutants.hpp"

namespace assay::fuzz {
namespace {

/// The record of one row, launched alone in the plain layout.
Record alone(const Variant& v, const std::vector<std::uint64_t>& bits) {
  Tensor row(v.dtype, 1, static_cast<std::int64_t>(bits.size()));
  for (std::size_t j = 0; j < bits.size(); ++j)
    row.set(0, static_cast<std::int64_t>(j), decode(v.dtype, bits[j]));
  return check(v, v.op, {.logits = std::move(row), .pick = selects(v.op) ? 5 : 0}, false);
}

ShareOptions small() {
  ShareOptions o;
  o.sizes = {2, 33};
  o.evaluations = 96;
  return o;
}

TEST(LargestShares, ClimbsAndRepeatsItself) {
  const Variant& v = *find_variant("online_warp/f32@host");
  const std::vector<LargestShare> a = largest_shares(v, small()), b = largest_shares(v, small());
  ASSERT_EQ(a.size(), 8u);  // four checks at two V
  bool climbed = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].utilisation, b[i].utilisation);
    EXPECT_EQ(a[i].bits, b[i].bits);
    EXPECT_TRUE(a[i].violation.empty()) << a[i].violation;
    EXPECT_LE(a[i].utilisation, 1) << a[i].check;
    EXPECT_GE(a[i].utilisation, a[i].start_utilisation);
    climbed = climbed || a[i].utilisation > 1.05 * a[i].start_utilisation;
    // The row is the evidence: alone, it shows the same share.
    double share = -1;
    for (const CheckResult& c : alone(v, a[i].bits).checks)
      if (a[i].check == name(c.check)) share = c.utilisation;
    EXPECT_EQ(share, a[i].utilisation) << a[i].check << " at V = " << a[i].V;
  }
  EXPECT_TRUE(climbed) << "the search never left its starts";
  ShareOptions other = small();
  other.seed = 2;
  bool differs = false;
  const std::vector<LargestShare> c = largest_shares(v, other);
  for (std::size_t i = 0; i < c.size(); ++i) differs = differs || c[i].bits != a[i].bits;
  EXPECT_TRUE(differs) << "the seed decides nothing";
}

/// The share of a sum depends on no output: rows whose f16 outputs are subnormal count for it, and for
/// nothing else.
TEST(LargestShares, TellsSubnormalOutputsFromSubnormalTerms) {
  const Variant& v = *find_variant("safe_block/f16@host");
  ShareOptions o;
  o.sizes = {33};
  o.evaluations = 0;
  for (const LargestShare& r : largest_shares(v, o)) {
    double least = 1, most = -INFINITY;
    for (const std::uint64_t b : r.bits) most = std::max(most, decode(v.dtype, b));
    for (const std::uint64_t b : r.bits) least = std::min(least, std::exp(decode(v.dtype, b) - most));
    EXPECT_EQ(least < min_normal(v.out()), r.check == "normalizer") << r.check;
    EXPECT_FALSE(r.start.empty());
  }
}

/// A bound that is one tenth too narrow would be found: for a serial sum the search reaches nearly all of its
/// bound.
TEST(LargestShares, ComesCloseToTheTheoremForASerialSum) {
  ShareOptions o;
  o.sizes = {1000};
  o.evaluations = 0;
  for (const LargestShare& r : largest_shares(*find_variant("online_thread/f32@host"), o))
    if (r.check == "normalizer") {
      EXPECT_GT(r.utilisation, 0.99);
    }
}

TEST(LargestShares, StopsAtAViolationAndKeepsIt) {
  for (const Mutant& m : mutants()) {
    if (m.fault != std::string_view("claims_tree_serial") || m.variant.backend != Backend::host) continue;
    ShareOptions o;
    o.sizes = {1000, 4099};
    o.evaluations = 16;
    const std::vector<LargestShare> r = largest_shares(m.variant, o);
    ASSERT_FALSE(r.empty());
    EXPECT_NE(r[0].violation.find("bound"), std::string::npos) << r[0].violation;
    EXPECT_EQ(r.back().V, 1000) << "it goes on after a violation";
    EXPECT_EQ(r[0].bits.size(), 1000u);
    EXPECT_EQ(alone(m.variant, r[0].bits).status, Status::fail);
  }
}

TEST(LargestShares, SaysWhatItDoesNotSearch) {
  EXPECT_EQ(not_searched(*find_variant("topk_block/f32@host")), "op topk has no bound: it is right or wrong");
  EXPECT_EQ(not_searched(*find_variant("safe_topk_block/f32@host")), "");
}

}  // namespace
}  // namespace assay::fuzz
