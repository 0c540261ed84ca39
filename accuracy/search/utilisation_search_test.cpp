// SPDX-License-Identifier: Apache-2.0
// The search for the largest error/bound: it climbs, it repeats itself bit for bit, it stays below 1 for a
// right kernel, and it keeps the row that refutes a wrong one.
#include "accuracy/search/utilisation_search.hpp"

#include <gtest/gtest.h>

#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

SearchOptions small() {
  SearchOptions o;
  o.sizes = {2, 33};
  o.evaluations = 96;
  return o;
}

TEST(UtilisationSearch, ClimbsAndRepeatsItself) {
  const Variant& v = *find_variant("online_warp/f32@host");
  const std::vector<SearchResult> a = search_utilisation(v, small()), b = search_utilisation(v, small());
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
    const RowShares again = shares_of_row(v, a[i].bits);
    double share = -1;
    for (std::size_t c = 0; c < kSearchedChecks.size(); ++c)
      if (a[i].check == kSearchedChecks[c]) share = again.share[c];
    EXPECT_EQ(share, a[i].utilisation) << a[i].check << " at V = " << a[i].V;
  }
  EXPECT_TRUE(climbed) << "the search never left its starts";
  SearchOptions other = small();
  other.seed = 2;
  bool differs = false;
  const std::vector<SearchResult> c = search_utilisation(v, other);
  for (std::size_t i = 0; i < c.size(); ++i) differs = differs || c[i].bits != a[i].bits;
  EXPECT_TRUE(differs) << "the seed decides nothing";
}

/// A bound that is one tenth too narrow would be found: for a serial sum the search reaches nearly all of its
/// bound.
TEST(UtilisationSearch, ComesCloseToTheTheoremForASerialSum) {
  SearchOptions o;
  o.sizes = {1000};
  o.evaluations = 0;
  for (const SearchResult& r : search_utilisation(*find_variant("online_thread/f32@host"), o))
    if (r.check == "normalizer") {
      EXPECT_GT(r.utilisation, 0.99);
    }
}

TEST(UtilisationSearch, StopsAtAViolationAndKeepsIt) {
  for (const Mutant& m : mutants()) {
    if (m.fault != std::string_view("claims_tree_serial") || m.variant.backend != Backend::host) continue;
    SearchOptions o;
    o.sizes = {1000, 4099};
    o.evaluations = 16;
    const std::vector<SearchResult> r = search_utilisation(m.variant, o);
    ASSERT_FALSE(r.empty());
    EXPECT_NE(r[0].violation.find("bound"), std::string::npos) << r[0].violation;
    EXPECT_EQ(r.back().V, 1000) << "it goes on after a violation";
    EXPECT_EQ(r[0].bits.size(), 1000u);
    EXPECT_FALSE(shares_of_row(m.variant, r[0].bits).violation.empty());
  }
}

TEST(UtilisationSearch, SaysWhatItDoesNotSearch) {
  EXPECT_EQ(not_searched(*find_variant("topk_block/f32@host")), "op topk has no bound: it is right or wrong");
  EXPECT_EQ(not_searched(*find_variant("safe_topk_block/f32@host")), "");
}

}  // namespace
}  // namespace assay
