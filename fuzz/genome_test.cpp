// SPDX-License-Identifier: Apache-2.0
// A genome is the same logits on every machine, and what a search makes of it stays in range.
#include "fuzz/genome.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/genome_element.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/trial.hpp"
#include "reference/error.hpp"
#include "reference/hash/draws.hpp"

namespace assay::fuzz {
namespace {

std::uint64_t hash(const Tensor& t) {
  std::uint64_t h = kHashOfNothing;
  for (std::byte b : t.bytes) h = hash_with(h, static_cast<std::uint64_t>(b));
  return h;
}

Genome with(Base base) {
  Genome g;
  g.base = base;
  g.V = 333;
  g.rows = 5;
  g.seed = 99;
  g.permutation = base == Base::ramp ? 7 : 0;
  g.gap = 0.75;
  g.spread = 1.25;
  g.stretches = 2;
  g.stretch[0] = {Put::neg_inf, 2, 32, 32, 64, 0};
  g.stretch[1] = {Put::above, -1, -1, 1, 0, 17.5};
  return g;
}

// Pinned: another compiler, machine or GPU must give the same bits.
TEST(FuzzGenome, IsTheSameLogitsEverywhere) {
  std::uint64_t all = 0;
  for (std::size_t b = 0; b < kBaseNames.size(); ++b)
    for (Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32})
      all = mixed(all ^ hash(tensor_of(with(static_cast<Base>(b)), t)));
  EXPECT_EQ(all, 9765169049525103037u);
}

TEST(FuzzGenome, RoundsToSixteenBitsAsTheFormatsDo) {
  MutationRandom random(5);
  for (int i = 0; i < 400000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    const std::uint64_t f16 = encode(Dtype::f16, static_cast<double>(x)),
                        bf16 = encode(Dtype::bf16, static_cast<double>(x));
    ASSERT_EQ(f16_bits(x), f16) << x;
    ASSERT_EQ(bf16_bits(x), bf16) << x;
  }
  for (std::uint32_t b = 0; b < 0x10000; ++b) {  // and each midpoint between two f16 values
    if (is_nan_bits(Dtype::f16, b)) continue;
    const auto x = static_cast<float>(decode(Dtype::f16, b));
    ASSERT_EQ(f16_bits(x), b);
    if (b & 0x8000 || b >= 0x7bff) continue;
    const auto half = static_cast<float>((decode(Dtype::f16, b) + decode(Dtype::f16, b + 1)) / 2);
    ASSERT_EQ(f16_bits(half), encode(Dtype::f16, static_cast<double>(half)));
  }
}

TEST(FuzzGenome, FiniteBasesStayFiniteAndSpecialsAreWhereTheyArePut) {
  Genome g = with(Base::powers);
  g.offset = 3e38;
  g.period = 250;
  g.stretches = 1;
  g.stretch[0] = {Put::nan, 1, 3, 2, 0, 0};
  for (Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const Tensor x = tensor_of(g, t);
    for (std::int64_t r = 0; r < x.rows; ++r)
      for (std::int64_t j = 0; j < x.V; ++j)
        ASSERT_EQ(std::isnan(x.at(r, j)), r == 1 && (j == 3 || j == 4)) << r << " " << j;
    EXPECT_STREQ(kind_of(x), "nan");
    EXPECT_EQ(kind_of_row(x, 0), RowKind::finite);
  }
}

TEST(FuzzGenome, PermutesTheColumns) {
  Genome g;
  g.base = Base::ramp;
  g.gap = 1;
  for (std::int64_t V : {3, 4, 31, 1000, 1024})
    for (std::uint64_t p = 1; p < 20; ++p) {
      g.V = V;
      g.rows = 1;
      g.permutation = p;
      const Tensor x = tensor_of(g, Dtype::f32);
      std::set<double> seen;
      for (std::int64_t j = 0; j < V; ++j) seen.insert(x.at(0, j));
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(V));
      ASSERT_EQ(*seen.rbegin(), static_cast<double>(V - 1));
    }
}

TEST(FuzzGenome, ComesBackFromItsText) {
  MutationRandom random(11);
  Domain domain;
  domain.max_k = 20;
  Genome last = fresh(random, domain);
  for (int i = 0; i < 500; ++i) {
    const Genome other = fresh(random, domain);
    last = mutate(i % 3 ? last : cross(last, other, random, domain), random, domain);
    ASSERT_EQ(genome_from_json(nlohmann::json::parse(to_json(last).dump())), last);
    ASSERT_EQ(in_range(last), last);
    ASSERT_LE(last.V * last.rows, std::max(domain.elements, last.V));
    ASSERT_LE(last.V, domain.longest);
  }
}

TEST(FuzzGenome, AsksForNoMoreThanTheRowHasWhereThatIsTheDomain) {
  MutationRandom random(12);
  Domain domain;
  domain.max_k = 64;
  domain.longest = 100;
  domain.k_up_to_V = true;
  Genome g = fresh(random, domain);
  for (int i = 0; i < 500; ++i) {
    ASSERT_LE(g.k, std::max<std::int64_t>(1, g.V));
    g = i % 3 ? mutate(g, random, domain) : fresh(random, domain);
  }
}

TEST(FuzzGenome, SaysWhichGeneIsWrong) {
  const auto refused = [](const char* gene, const nlohmann::json& value) {
    nlohmann::json j = to_json(Genome{});
    j[gene] = value;
    try {
      genome_from_json(j);
      ADD_FAILURE() << gene << " = " << value << " was taken";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(gene), std::string::npos) << e.what();
    }
  };
  refused("base", "gaussian");
  refused("V", -1);
  refused("V", 1e9);
  refused("V", "12");
  refused("rows", 0);
  refused("seed", -4);
  refused("offset", nullptr);
  refused("stretches", 3);
  refused("k", std::uint64_t{18446744073709551615u});
}

TEST(FuzzGenome, KeepsToItsDomain) {
  Domain domain;
  domain.sizes = {1000};
  domain.V_multiple = 8;
  domain.dense = domain.finite = true;
  MutationRandom random(3);
  Genome g = fresh(random, domain);
  for (int i = 0; i < 300; ++i) {
    g = mutate(g, random, domain);
    ASSERT_EQ(g.V % 8, 0);
    ASSERT_EQ(g.pitch_gap + g.first, 0);
    const std::string kind = kind_of(tensor_of(g, Dtype::f16));
    ASSERT_EQ(kind, "finite") << describe(g);
  }
}

/// Steps change a few logits of one row; without them the same seed draws what it always drew.
TEST(Genome, StepsChangeARowOfItsOwn) {
  MutationRandom random(5);
  Domain domain;
  domain.sizes = {33};
  domain.most_rows = 1;
  domain.finite = true;
  const Genome genes = mutate(fresh(random, domain), random, domain);
  EXPECT_TRUE(genes.row.empty());
  domain.steps_of = Dtype::f16;
  Genome g = genes;
  while (g.row.empty()) g = mutate(genes, random, domain);
  int small = 0;
  for (int n = 0; n < 100; ++n) {
    const Genome child = mutate(g, random, domain);
    const Tensor before = tensor_of(g, Dtype::f16), after = tensor_of(child, Dtype::f16);
    int changed = 0;
    for (std::int64_t j = 0; j < 33; ++j) {
      changed += before.at(0, j) != after.at(0, j);
      EXPECT_TRUE(std::isfinite(after.at(0, j)));
    }
    small += changed > 0 && changed <= 3;
    EXPECT_EQ(genome_from_json(to_json(child)), child);
  }
  EXPECT_GT(small, 10);
  g.row[0] = -INFINITY;
  EXPECT_EQ(genome_from_json(nlohmann::json::parse(to_json(g).dump())), g);
  g.V = 32;
  EXPECT_TRUE(in_range(g).row.empty()) << "a row of another length";
}

}  // namespace
}  // namespace assay::fuzz
