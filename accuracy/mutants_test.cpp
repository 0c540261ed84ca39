// Every planted fault must be refused, on the family and by the check it names; the unmutated kernels the
// faults were planted into must pass there.
#include "kernels/mutants/mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, DieByTheNamedCheck) {
  const Mutant& m = mutants()[GetParam()];
  if (!m.single_case() || !unavailable_reason(m.variant.backend).empty()) GTEST_SKIP();
  Record r;
  if (m.expect.family == std::string_view(kProbeFamily)) {
    r = probe_record(m.variant, behaviour_of(m.variant));
  } else {
    const Family* family = find_family(m.expect.family);
    ASSERT_NE(family, nullptr) << m.expect.family;
    const std::int64_t rows =
        m.expect.rows ? m.expect.rows
                      : std::max<std::int64_t>(3, report_rows(*family, m.variant.dtype, m.expect.V, false));
    const Case c(*family, m.variant.dtype, m.expect.V, rows, 1);
    r = check_case(m.variant, c, m.variant.op, m.expect.k);
  }
  if (m.kind == Kind::right) {
    EXPECT_EQ(r.status, Status::pass) << r.reason;
    return;
  }
  EXPECT_EQ(r.status, Status::fail) << m.fault << " survived on " << m.expect.family;
  const auto check = std::find_if(r.checks.begin(), r.checks.end(),
                                  [&](const CheckResult& x) { return x.name == m.expect.check; });
  ASSERT_NE(check, r.checks.end()) << m.expect.check << " judged nothing; " << r.reason;
  EXPECT_GT(check->failed, 0) << m.fault << " on " << m.expect.family << " was refused, but not by "
                              << m.expect.check << ": " << r.reason;
  EXPECT_TRUE(m.expect.check == std::string_view("repeat") || !check->detail.empty());
}

INSTANTIATE_TEST_SUITE_P(Planted, Mutants, testing::Range<std::size_t>(0, mutants().size()),
                         [](const testing::TestParamInfo<std::size_t>& i) {
                           std::string name = mutants()[i.param].fault;
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
  // What only a GPU can show is planted where CUDA is compiled.
  for (const char* id : {"M85", "A88"}) planted.insert(id);
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
