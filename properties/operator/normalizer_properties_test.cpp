// SPDX-License-Identifier: Apache-2.0
// ⊕ as the kernels use it, in every format and on every backend of this build. Each property is one test and
// reports its coverage.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstdio>

#include "kernels/device.hpp"
#include "properties/float_generators.hpp"
#include "properties/operator/on_algebra_test.hpp"
#include "properties/operator/operator_properties.hpp"
#include "properties/pair_generators.hpp"

namespace assay {
namespace {

/// One algebra and one property.
struct AlgebraCase {
  const Algebra* algebra;
  const Property* property;
};
void PrintTo(const AlgebraCase& c, std::ostream* os) {
  *os << name_of(*c.algebra) << "_" << c.property->name;
}

class Normalizer : public testing::TestWithParam<AlgebraCase> {};
TEST_P(Normalizer, Has) {
  const auto [algebra, property] = GetParam();
  if (const std::string why = unavailable_reason(algebra->backend); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = outcome_of(*property, *algebra);
  std::printf("%s\n", outcome.coverage.c_str());
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
}

std::vector<AlgebraCase> every_property_of(const Algebra& a) {
  std::vector<AlgebraCase> cases;
  for (const Property& p : normalizer_properties()) cases.push_back({&a, &p});
  return cases;
}
const auto kPropertyOfAlgebra = [](const auto& test) { return std::string(test.param.property->name); };
#define ON(prefix, algebra)                                                                   \
  INSTANTIATE_TEST_SUITE_P(prefix, Normalizer, testing::ValuesIn(every_property_of(algebra)), \
                           kPropertyOfAlgebra)
ON(NormalizerHost, host::accurate);
ON(NormalizerHostFast, host::fast);
ON(NormalizerHostF16, host::narrow_f16);
ON(NormalizerHostBf16, host::narrow_bf16);
ON(NormalizerHostFma, host_fma::accurate);
ON(NormalizerHostFmaFast, host_fma::fast);
ON(NormalizerHostFmaF16, host_fma::narrow_f16);
ON(NormalizerHostFmaBf16, host_fma::narrow_bf16);
#if defined(ASSAY_WITH_CUDA)
ON(NormalizerCuda, cuda::accurate);
ON(NormalizerCudaFast, cuda::fast);
ON(NormalizerCudaF16, cuda::narrow_f16);
ON(NormalizerCudaBf16, cuda::narrow_bf16);
#endif
#undef ON

class NormalizerAlgebra : public OnAlgebra {};
INSTANTIATE_TEST_SUITE_P(, NormalizerAlgebra, testing::ValuesIn(select_forms()), kAlgebraName);

/// Every 16-bit value, each with partners of every class.
TEST_P(NormalizerAlgebra, EveryNarrowLeafCommutesWithEveryPartner) {
  const Dtype format = algebra().format;
  std::vector<Pair> partners;
  for (std::uint32_t bits : {0x00000000u, 0x80000000u, 0x00000001u, 0x3f800000u, 0xc1a80001u, 0x42f0fffeu,
                             0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u}) {
    const double x = static_cast<double>(std::bit_cast<float>(bits));
    const Pair leaf = algebra().leaf(static_cast<float>(round_to(format, x)));
    partners.push_back(leaf);
    if (std::isfinite(leaf.m)) partners.push_back({leaf.m, static_cast<float>(exact_count(format) * 0.499)});
  }
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    if (format != Dtype::f32 && format != t) continue;
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) x.push_back(Float{t, bits}.as_float());
    const std::size_t n = x.size();
    std::vector<Pair> leaves(n), other(n), left(n), right(n);
    algebra().leaf_each(x.data(), leaves.data(), n);
    for (const bool identity_first : {true, false}) {
      other.assign(n, Algebra::identity);
      if (identity_first)
        algebra().combine_each(other.data(), leaves.data(), left.data(), n);
      else
        algebra().combine_each(leaves.data(), other.data(), left.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(left[i], leaves[i]))
            << "identity " << (identity_first ? "before " : "after ") << name(t) << " " << std::hex << i;
    }
    for (Pair p : partners) {
      other.assign(n, p);
      algebra().combine_each(leaves.data(), other.data(), left.data(), n);
      algebra().combine_each(other.data(), leaves.data(), right.data(), n);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_TRUE(same(left[i], right[i]))
            << name(t) << " " << std::hex << i << " with " << rc::toString(p);
    }
  }
}

/// exp(t) of every non-positive 16-bit value is at most 1, and exactly 1 at 0. With the tree properties this
/// implies 1 <= d <= j.
TEST_P(NormalizerAlgebra, ExpOfEveryNarrowArgumentIsAtMostOne) {
  const Dtype format = algebra().format;
  for (Dtype t : {Dtype::f16, Dtype::bf16}) {
    if (format != Dtype::f32 && format != t) continue;
    std::vector<float> x;
    for (std::uint64_t bits = 0x8000; bits <= 0x8000 + assay::format(t).infinity_bits(); ++bits)
      x.push_back(Float{t, bits}.as_float());
    std::vector<float> e(x.size());
    algebra().exp_each(x.data(), e.data(), x.size());
    EXPECT_EQ(e[0], 1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(e[i] >= 0 && e[i] <= 1) << x[i] << " " << e[i];
  }
}

}  // namespace
}  // namespace assay
