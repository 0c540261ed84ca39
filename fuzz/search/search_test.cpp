// SPDX-License-Identifier: Apache-2.0
// The search finds planted faults within a few hundred genomes, finds nothing in right kernels, and is a
// function of its seed.
#include "fuzz/search/search.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "fuzz/mutant_test.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/search/campaign.hpp"
#include "fuzz/search/device_batch.hpp"
#include "fuzz/search/largest_shares.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay::fuzz {
namespace {

SearchResult searched(const Variant& v, std::int64_t evaluations, Corpus& corpus, std::uint64_t seed = 1,
                      int workers = 1) {
  SearchOptions o;
  o.evaluations = evaluations;
  o.seed = seed;
  o.workers = workers;
  o.domain = domain_of(v, v.op);
  corpus.key = v.key();
  return search([&v] { return v; }, v.op, o, corpus);
}

class FuzzFinds : public testing::TestWithParam<const char*> {};
TEST_P(FuzzFinds, ThePlantedFault) {
  Corpus corpus;
  const SearchResult r = searched(mutant(GetParam()), 512, corpus);
  EXPECT_FALSE(r.failures.empty()) << r.evaluations << " genomes, none failed";
}
INSTANTIATE_TEST_SUITE_P(Mutants, FuzzFinds,
                         testing::Values("no_rescale", "max_from_zero", "max_from_minus_5e4",
                                         "no_identity_guard", "own_lane_maximum", "slice_lost_from_maximum",
                                         "sentinel_hides_nan", "divisor_off", "separate_products",
                                         "last_rows_skipped"),
                         [](const auto& i) { return std::string(i.param); });

class FuzzAccepts : public testing::TestWithParam<const char*> {};
TEST_P(FuzzAccepts, ARightKernel) {
  const Variant* v = find_variant(GetParam());
  ASSERT_NE(v, nullptr);
  Corpus corpus;
  const SearchResult r = searched(*v, 256, corpus, 7);
  EXPECT_TRUE(r.failures.empty()) << r.failures.at(0).signature.text() << ": "
                                  << describe(r.failures[0].genome);
  EXPECT_EQ(r.evaluations, 256);
  EXPECT_GT(r.passed, 0);
  EXPECT_GT(r.elements, 0);
  EXPECT_LE(r.largest_share, 1);
}
INSTANTIATE_TEST_SUITE_P(Keys, FuzzAccepts,
                         testing::Values("online_block/f32@host", "safe_block/f16@host",
                                         "naive_block/f32@host", "log_softmax_block/bf16@host",
                                         "online_topk_block/f32@host", "lazy_block/f32@host_fma"),
                         [](const auto& i) {
                           std::string s = i.param;
                           for (char& c : s)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return s;
                         });

TEST(FuzzSearch, IsAFunctionOfItsSeed) {
  const Variant& v = *find_variant("online_block/f16@host");
  Corpus one, threads, other;
  searched(v, 96, one, 5, 1);
  searched(v, 96, threads, 5, 3);
  searched(v, 96, other, 6, 1);
  EXPECT_EQ(one.text(), threads.text());
  EXPECT_NE(one.text(), other.text());
}

TEST(FuzzSearch, GoesOnWhereItStopped) {
  const Variant& v = *find_variant("online_block/f16@host");
  Corpus whole, parts;
  searched(v, 160, whole, 5);
  searched(v, 96, parts, 5);
  parts = corpus_from_text(parts.text(), "corpus");
  searched(v, 64, parts, 5);
  EXPECT_EQ(whole.text(), parts.text());
  EXPECT_EQ(parts.evaluations, 160);
}

TEST(FuzzSearch, LearnsToUseMoreOfABound) {
  const Variant& v = *find_variant("online_block/f32@host");
  Corpus early, late;
  const double first = searched(v, 64, early).largest_share;
  const double last = searched(v, 640, late).largest_share;
  EXPECT_GT(last, first);
  EXPECT_GT(late.entries.size(), early.entries.size());
}

TEST(FuzzSearch, StopsForTime) {
  const Variant& v = *find_variant("online_block/f32@host");
  SearchOptions o;
  o.seconds = 0.05;
  Corpus corpus;
  const SearchResult r = search([&v] { return v; }, v.op, o, corpus);
  EXPECT_GE(r.evaluations, kGeneration);
  EXPECT_LT(r.seconds, 20);
}

TEST(FuzzSearch, TheTimeOfLoadingIsNotTheSearchs) {
  const Variant& v = *find_variant("online_block/f32@host");
  SearchOptions o;
  o.seconds = 0.05;
  Corpus corpus;
  const auto slow = [&v] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return v;
  };
  EXPECT_GE(search(slow, v.op, o, corpus).evaluations, kGeneration);
}

TEST(FuzzCorpus, RefusesWhatItCanNotRead) {
  const auto refused = [](const std::string& text) {
    try {
      corpus_from_text(text, "file");
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).substr(0, 4), "file") << e.what();
    }
  };
  Corpus c;
  c.key = "k";
  refused("");
  refused("{}");
  refused("[1]");
  refused("{\"assay_corpus\": 2}\n");
  refused(c.text() + "{\"feature\": \"f\"}\n");
  for (const char* evaluations : {"1.5", "1e40", "-1", "9223372036854775808", "true", "\"1\"", "null"})
    refused("{\"assay_corpus\": 1, \"key\": \"k\", \"seed\": 1, \"evaluations\": " +
            std::string(evaluations) + "}\n");
  for (const char* seed : {"-1", "18446744073709551616", "0.5"})
    refused("{\"assay_corpus\": 1, \"key\": \"k\", \"evaluations\": 1, \"seed\": " + std::string(seed) +
            "}\n");
  refused(c.text() + "nonsense\n");
  EXPECT_EQ(corpus_from_text(c.text(), "file").key, "k");
}

// Two shards leave two files. A third run of either shard knows what both learned.
TEST(FuzzShards, ShareWhatTheyLearnByFile) {
  const TestFolder own;
  const std::filesystem::path& folder = own.path();
  const Variant& v = *find_variant("online_block/f16@host");
  CampaignOptions o;
  o.search.evaluations = 64;
  o.search.domain = domain_of(v, v.op);
  o.corpus = folder;
  std::vector<Corpus> left;
  for (int i : {0, 1}) {
    o.suffix = fmt::format(".{}-of-2", i);
    o.search.seed = static_cast<std::uint64_t>(i + 1);
    std::string text;
    o.corpus = folder / "none";
    run_campaign([&v] { return v; }, v.op, o, &text);
    std::ofstream(corpus_file(folder, v.key(), o.suffix)) << text;
    left.push_back(corpus_from_text(text, "shard"));
  }
  EXPECT_NE(left[0].text(), left[1].text());
  const Corpus both = merged(left);
  EXPECT_EQ(both.evaluations, 128);
  EXPECT_GE(both.entries.size(), std::max(left[0].entries.size(), left[1].entries.size()));
  o.corpus = folder;
  const Campaign third = run_campaign([&v] { return v; }, v.op, o, nullptr);
  EXPECT_EQ(third.known_before, both.entries.size());
}

// Device batches: the logits equal the host's bit for bit, right kernels pass, planted faults do not. Skipped
// without a GPU.

class FuzzDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(FuzzDevice, MakesTheHostsLogits) {
  MutationRandom random(17);
  Domain domain;
  domain.longest = 3000;
  for (int i = 0; i < 300; ++i) {
    const Genome g = mutate(fresh(random, domain), random, domain);
    for (Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32})
      ASSERT_EQ(tensor_by_device(g, t).bytes, tensor_of(g, t).bytes) << name(t) << " " << describe(g);
  }
}

std::vector<Genome> ordinary(std::int64_t V, int count) {
  MutationRandom random(23);
  Domain domain;
  domain.sizes = {V};
  domain.finite = domain.dense = true;
  std::vector<Genome> list;
  for (int i = 0; i < count; ++i) {
    Genome g = fresh(random, domain);
    g.rows = 8;
    list.push_back(in_range(g));
  }
  return list;
}

TEST_F(FuzzDevice, PassesARightKernel) {
  for (const char* key : {"online_block/f32@cuda", "safe_block/f16@cuda", "online_warp/bf16@cuda"}) {
    const Variant* v = find_variant(key);
    ASSERT_NE(v, nullptr) << key;
    ASSERT_EQ(no_device_batch(*v, v->op), "");
    DeviceBatch batch(*v, std::int64_t{1} << 21, 1 << 12);
    for (std::int64_t V : {1, 33, 1000, 4099}) {
      const std::vector<Genome> genomes = ordinary(V, 50);
      std::vector<bool> again;
      const std::vector<Evaluation> results = batch(genomes, again);
      ASSERT_EQ(results.size(), genomes.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_FALSE(again[i]) << key << " " << describe(genomes[i]);
        EXPECT_EQ(results[i].elements, 8 * V);
        const double share = results[i].share[static_cast<std::size_t>(Check::element)];
        EXPECT_TRUE(share >= 0 && share <= 1) << share;
      }
    }
  }
}

TEST_F(FuzzDevice, LooksAgainAtAWrongOne) {
  for (const char* key : {"mutant.no_rescale/f32@cuda", "mutant.write_skips_last/f32@cuda"}) {
    const Variant* v = find_mutant(key);
    ASSERT_NE(v, nullptr) << key;
    DeviceBatch batch(*v, std::int64_t{1} << 20, 1 << 12);
    const std::vector<Genome> genomes = ordinary(1000, 40);
    std::vector<bool> again;
    batch(genomes, again);
    EXPECT_GT(std::count(again.begin(), again.end(), true), 20) << key;
  }
}

TEST_F(FuzzDevice, SearchesInBatches) {
  const Variant& v = *find_variant("online_block/f32@cuda");
  SearchOptions o;
  o.evaluations = 2000;
  o.domain = domain_of(v, v.op);
  o.on_device = &v;
  o.batch_elements = std::int64_t{1} << 20;
  Corpus one, two;
  const SearchResult r = search([&v] { return v; }, v.op, o, one);
  EXPECT_TRUE(r.failures.empty()) << r.failures.at(0).signature.text() << ": " << r.failures[0].record.reason;
  EXPECT_GT(r.batches, 0);
  EXPECT_EQ(r.evaluations, 2000);
  search([&v] { return v; }, v.op, o, two);
  EXPECT_EQ(one.text(), two.text());
}

// The search for the largest error/bound: it climbs, it repeats itself bit for bit, it stays below 1 for a
// right kernel, and it keeps the row that refutes a wrong one.

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
