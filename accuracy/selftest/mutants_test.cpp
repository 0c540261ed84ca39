// SPDX-License-Identifier: Apache-2.0
// Every planted fault must be refused, on the family and by the check that it names. The unmutated kernels
// into which the faults were planted must pass there.
#include "kernels/mutants/mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "accuracy/selftest/mutant_judge.hpp"

namespace assay {
namespace {

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, DieByTheNamedCheck) {
  static MutantInputs inputs(true);
  const Mutant& m = mutants()[GetParam()];
  const MutantVerdict v = judge_mutant(m, inputs);
  if (!v.ran) GTEST_SKIP() << v.detail;
  if (m.kind == Kind::right) {
    EXPECT_FALSE(v.refused) << v.detail << "\n" << v.reproduce;
    return;
  }
  EXPECT_TRUE(v.refused) << m.fault << " survived on " << m.expect.family;
  EXPECT_TRUE(v.by_named_check()) << m.fault << " was refused, but not by " << m.expect.check << ": "
                                  << v.detail;
}

INSTANTIATE_TEST_SUITE_P(Planted, Mutants, testing::Range<std::size_t>(0, mutants().size()),
                         [](const testing::TestParamInfo<std::size_t>& i) {
                           std::string name = mutants()[i.param].fault;
                           // Some faults need the kernel for two types.
                           for (const Mutant& m : mutants())
                             if (name == m.fault && m.variant.dtype != mutants()[i.param].variant.dtype) {
                               name += std::string("_") + assay::name(mutants()[i.param].variant.dtype);
                               break;
                             }
                           if (mutants()[i.param].variant.backend == Backend::cuda) name += "_on_cuda";
                           bool up = true;
                           std::string camel;
                           for (char ch : name) {
                             if (ch == '_')
                               up = true;
                             else {
                               camel +=
                                   up ? static_cast<char>(std::toupper(static_cast<unsigned char>(ch))) : ch;
                               up = false;
                             }
                           }
                           return camel;
                         });

TEST(Catalogue, EveryFaultIsPlantedOrSaysWhyNot) {
  std::set<std::string_view> planted;
  for (const Mutant& m : mutants()) {
    planted.insert(m.id);
    EXPECT_STRNE(what_of(m.id), "") << m.fault << " has the unknown id " << m.id;
    EXPECT_TRUE(std::string_view(m.expect.only).empty() || *m.expect.why) << m.fault << " does not say why";
    EXPECT_EQ(m.kind == Kind::right, std::string_view(m.expect.check).empty()) << m.fault;
  }
  // Faults that only a GPU can show are planted where CUDA is compiled.
  for (const char* id : {"M85", "A88", "X44"}) planted.insert(id);
  int ours = 0;
  for (const CatalogueEntry& e : catalogue()) {
    EXPECT_NE(planted.count(e.id) == 1, *e.missing != 0) << e.id;
    ours += *e.id == 'X';
  }
  EXPECT_GE(ours, 20);
}

TEST(Catalogue, NamesAreUniqueAndNoPartOfTheRegistry) {
  std::set<std::string> keys, ids;
  for (const Mutant& m : mutants()) {
    EXPECT_TRUE(keys.insert(m.variant.key()).second) << m.variant.key();
    EXPECT_EQ(find_mutant(m.variant.key()), &m.variant);
    EXPECT_EQ(find_variant(m.variant.key()), nullptr);
  }
  for (const CatalogueEntry& e : catalogue()) EXPECT_TRUE(ids.insert(e.id).second) << e.id;
  EXPECT_EQ(find_mutant("mutant.nobody/f32@host"), nullptr);
}

}  // namespace
}  // namespace assay
