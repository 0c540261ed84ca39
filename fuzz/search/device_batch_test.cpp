// SPDX-License-Identifier: Apache-2.0
// Device batches: the logits equal the host's bit for bit, right kernels pass, planted faults do not. Skipped
// without a GPU.
#include "fuzz/search/device_batch.hpp"

#include <gtest/gtest.h>

#include "fuzz/mutate.hpp"
#include "fuzz/search/search.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay::fuzz {
namespace {

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

}  // namespace
}  // namespace assay::fuzz
