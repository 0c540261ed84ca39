// ⊕ as the kernels use it, for every host backend and exp: the properties, and what is better shown than
// searched for.
#include "properties/normalizer_properties.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "kernels/device.hpp"
#include "properties/float_generators.hpp"
#include "properties/pair_generators.hpp"

namespace assay {
namespace {

/// One algebra, and one property or none.
struct Case {
  const Algebra* algebra = nullptr;
  const Property* property = nullptr;
};
void PrintTo(const Case& c, std::ostream* os) {
  *os << name(c.algebra->backend) << "_" << c.algebra->name
      << (c.property ? std::string("_") + c.property->name : "");
}

/// Skips a backend this CPU lacks.
class OnCase : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(algebra().backend); !why.empty()) GTEST_SKIP() << why;
  }
  const Algebra& algebra() const { return *GetParam().algebra; }
};

class Normalizer : public OnCase {};
TEST_P(Normalizer, Has) {
  const std::string failure = failure_of(*GetParam().property, algebra());
  EXPECT_TRUE(failure.empty()) << failure;
}

std::vector<Case> every_property_of(const Algebra& a) {
  std::vector<Case> cases;
  for (const Property& p : normalizer_properties()) cases.push_back({&a, &p});
  return cases;
}
const auto kPropertyName = [](const auto& test) { return std::string(test.param.property->name); };
INSTANTIATE_TEST_SUITE_P(NormalizerHost, Normalizer, testing::ValuesIn(every_property_of(host::accurate)),
                         kPropertyName);
INSTANTIATE_TEST_SUITE_P(NormalizerHostFast, Normalizer, testing::ValuesIn(every_property_of(host::fast)),
                         kPropertyName);
INSTANTIATE_TEST_SUITE_P(NormalizerHostFma, Normalizer,
                         testing::ValuesIn(every_property_of(host_fma::accurate)), kPropertyName);
INSTANTIATE_TEST_SUITE_P(NormalizerHostFmaFast, Normalizer,
                         testing::ValuesIn(every_property_of(host_fma::fast)), kPropertyName);

class NormalizerAlgebra : public OnCase {};
INSTANTIATE_TEST_SUITE_P(, NormalizerAlgebra,
                         testing::Values(Case{&host::accurate}, Case{&host::fast}, Case{&host_fma::accurate},
                                         Case{&host_fma::fast}),
                         testing::PrintToStringParamName());

/// Every 16-bit value against partners of every class.
TEST_P(NormalizerAlgebra, EveryNarrowLeafCommutesWithEveryPartner) {
  std::vector<Pair> partners;
  for (std::uint32_t bits : {0x00000000u, 0x80000000u, 0x00000001u, 0x3f800000u, 0xc1a80001u, 0x42f0fffeu,
                             0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u}) {
    const Pair leaf = algebra().leaf(std::bit_cast<float>(bits));
    partners.push_back(leaf);
    if (std::isfinite(leaf.m)) partners.push_back({leaf.m, 0x1.fffffep22f});
  }
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
      const Pair x = algebra().leaf(Float{t, bits}.as_float());
      ASSERT_TRUE(same(algebra().combine(algebra().identity, x), x)) << name(t) << " " << std::hex << bits;
      for (Pair p : partners)
        ASSERT_TRUE(same(algebra().combine(x, p), algebra().combine(p, x)))
            << name(t) << " " << std::hex << bits << " with " << rc::toString(p);
    }
  }
}

/// 1 <= d <= j ends at 2^24: there a count sticks, and past it rounding may exceed the number of terms.
TEST_P(NormalizerAlgebra, CountsAreExactUpTo2To24AndNotBeyond) {
  Pair ones = algebra().leaf(3.0f);
  for (int k = 0; k < 24; ++k) ones = algebra().combine(ones, ones);
  EXPECT_EQ(ones.d, 0x1p24f);
  EXPECT_EQ(algebra().combine(ones, algebra().leaf(3.0f)).d, 0x1p24f);
  EXPECT_EQ(algebra().combine({3, 8388609}, {3, 8388610}).d, 16777220.0f) << "of 16777219 ones";
}

/// Differing pairs among `tries`, and the first of them.
int count_differing(const Algebra& a, int tries, std::string& first) {
  const auto gen = pairs(2, Carrier::counts);
  rc::Random random(1);
  int differing = 0;
  for (int i = 0; i < tries; ++i) {
    const auto v = gen(random.split(), 100).value();
    const Pair ab = a.combine(v[0], v[1]), ba = a.combine(v[1], v[0]);
    if (!same(ab, ba) && ++differing == 1)
      first = rc::toString(v[0]) + " and " + rc::toString(v[1]) + " give " + rc::toString(ab) + " and " +
              rc::toString(ba);
  }
  return differing;
}

/// Warps whose lanes, each with the partial sum of a slice, do not all hold the same after the butterfly.
int count_torn(const Algebra& a, int tries) {
  Draw draw{rc::Random(2)};
  int torn = 0;
  for (int i = 0; i < tries; ++i) {
    Pair in[kLanes], out[kLanes];
    for (Pair& p : in) p = {static_cast<float>(draw.between(0, 2)), static_cast<float>(draw.between(1, 100))};
    a.butterfly(in, out);
    torn += std::any_of(out, out + kLanes, [&](Pair p) { return !same(p, out[0]); });
  }
  return torn;
}

TEST(SymmetricForm, CommutesOnlyWhereNothingIsContracted) {
  std::string first;
  EXPECT_EQ(count_differing(host::symmetric, 20000, first), 0) << first;
  EXPECT_EQ(count_torn(host::symmetric, 200), 0);
  if (const std::string why = unavailable_reason(Backend::host_fma); !why.empty()) GTEST_SKIP() << why;
  const int pairs_differing = count_differing(host_fma::symmetric, 20000, first);
  const int warps_torn = count_torn(host_fma::symmetric, 200);
  EXPECT_GT(pairs_differing, 100) << "the symmetric form was not contracted";
  EXPECT_GT(warps_torn, 20);
  std::printf("symmetric form under FMA: %d of 20000 pairs differ, the lanes of %d of 200 warps\n  %s\n",
              pairs_differing, warps_torn, first.c_str());
  EXPECT_EQ(count_differing(host_fma::accurate, 20000, first), 0) << first;
  EXPECT_EQ(count_torn(host_fma::accurate, 200), 0);
}

TEST(SerialSumOfOnes, SticksAtTwoToThePrecision) {
  for (Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const double stuck = host::sum_of_ones_sticks_at(t);
    EXPECT_EQ(stuck, 1 / unit_roundoff(t)) << name(t);
    std::printf("a serial sum of ones in %s sticks at %.0f\n", name(t), stuck);
    if (unavailable_reason(Backend::host_fma).empty()) {
      EXPECT_EQ(host_fma::sum_of_ones_sticks_at(t), stuck) << name(t);
    }
  }
  EXPECT_EQ(host::sum_of_ones_sticks_at(Dtype::f16), 2048);
  EXPECT_EQ(host::sum_of_ones_sticks_at(Dtype::bf16), 256);
}

}  // namespace
}  // namespace assay
