// SPDX-License-Identifier: Apache-2.0
// Both tiers of the oracle give the same verdict, for every host key on every family and every mutant on
// some.
#include <gtest/gtest.h>

#include <cstdio>

#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

/// Failures of every check, in one line.
std::string failures(const Record& r) {
  std::string s = std::string(name(r.status)) + " ";
  for (const CheckResult& c : r.checks)
    s += std::string(name(c.check)) + ":" + std::to_string(c.failed) + "/" + std::to_string(c.judged) + " ";
  return s;
}

struct Counts {
  std::int64_t records = 0, failed = 0, escalated = 0;
};

void compare(const Variant& v, const Case& fast, const Case& exact, Counts& counts) {
  const Op op = v.op;
  const Record a = check_case(v, fast, op, 5);
  const Record b = check_case(v, exact, op, 5);
  ++counts.records;
  counts.failed += b.status == Status::fail;
  counts.escalated += a.escalated > 0;
  EXPECT_EQ(failures(a), failures(b)) << a.reproduce;
  EXPECT_EQ(a.correctly_rounded, b.correctly_rounded) << a.reproduce;
}

class Tiers : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, Tiers, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Tiers, GiveTheSameVerdicts) {
  Counts counts;
  for (const Family& family : families())
    for (const std::int64_t V : {2, 33, 513}) {
      if (!applies(family, GetParam(), V)) continue;
      const Case fast(family, GetParam(), V, 2, 1), exact(family, GetParam(), V, 2, 1, Tier::mpfr);
      for (const Variant& v : registry())
        if (v.dtype == GetParam() && v.backend == Backend::host) compare(v, fast, exact, counts);
      if (V == 513)
        // Every fifth of more than a hundred mutants; other ones on the next family.
        for (std::size_t i = 0; i < mutants().size(); ++i) {
          const Mutant& m = mutants()[i];
          if (m.variant.dtype == GetParam() && m.variant.backend == Backend::host && m.single_case() &&
              (i + static_cast<std::size_t>(&family - families().data())) % 5 == 0)
            compare(m.variant, fast, exact, counts);
        }
    }
  std::printf("%lld records, %lld of them failures, %lld decided by MPFR\n",
              static_cast<long long>(counts.records), static_cast<long long>(counts.failed),
              static_cast<long long>(counts.escalated));
  EXPECT_GT(counts.records, 500);
  // With so many records, fp64 leaves some comparison undecided. So the way through MPFR was taken, with the
  // same verdict.
  if (GetParam() == Dtype::f32) {
    EXPECT_GT(counts.escalated, 0);
  }
  // Most mutants are f32.
  EXPECT_GE(counts.failed, GetParam() == Dtype::f32 ? 300 : 0);
}

}  // namespace
}  // namespace assay
