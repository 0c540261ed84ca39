// Every planted fault must be refused, on the family and by the check it names; the unmutated kernels the
// faults were planted into must pass there.
#include "kernels/mutants/mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"

namespace assay {
namespace {

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, DieByTheNamedCheck) {
  const Mutant& m = mutants()[GetParam()];
  Record r;
  if (m.family == std::string_view(kProbeFamily)) {
    r = probe_record(m.variant, behaviour_of(m.variant));
  } else {
    const Family* family = find_family(m.family);
    ASSERT_NE(family, nullptr) << m.family;
    const Case c(*family, m.variant.dtype, m.V,
                 std::max<std::int64_t>(3, report_rows(*family, m.variant.dtype, m.V, false)), 1);
    r = check_case(m.variant, c, m.variant.op, m.k);
  }
  if (std::string_view(m.check).empty()) {
    EXPECT_EQ(r.status, Status::pass) << r.reason;
    return;
  }
  EXPECT_EQ(r.status, Status::fail) << m.fault << " survived on " << m.family;
  const auto check =
      std::find_if(r.checks.begin(), r.checks.end(), [&](const CheckResult& x) { return x.name == m.check; });
  ASSERT_NE(check, r.checks.end()) << m.check << " judged nothing; " << r.reason;
  EXPECT_GT(check->failed, 0) << m.fault << " on " << m.family << " was refused, but not by " << m.check
                              << ": " << r.reason;
  EXPECT_TRUE(m.check == std::string_view("repeat") || !check->detail.empty());
}

INSTANTIATE_TEST_SUITE_P(Planted, Mutants, testing::Range<std::size_t>(0, mutants().size()),
                         [](const testing::TestParamInfo<std::size_t>& i) {
                           std::string name = mutants()[i.param].fault;
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

}  // namespace
}  // namespace assay
