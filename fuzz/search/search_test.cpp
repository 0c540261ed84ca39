// SPDX-License-Identifier: Apache-2.0
// The search finds planted faults within a few hundred genomes, finds nothing in right kernels, and is a
// function of its seed.
#include "fuzz/search/search.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "fuzz/mutant_test.hpp"
#include "fuzz/search/campaign.hpp"
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

}  // namespace
}  // namespace assay::fuzz
