// SPDX-License-Identifier: Apache-2.0
// Compares quotients by a shared divisor with IEEE division, on the host: random and edge mantissas, every
// exponent. A GPU sweeps the whole set of mantissa pairs (accuracy/functions/quotient_sweep.hpp).
#include <gtest/gtest.h>

#include <bit>
#include <random>

#define ASSAY_BACKEND host
#include "kernels/building_blocks/row_divisor.cuh"

namespace assay::host {
namespace {

float of_bits(std::uint32_t b) { return std::bit_cast<float>(b); }

std::uint32_t differing(std::uint32_t reciprocal_off_by, std::uint32_t pairs) {
  std::mt19937 random(7);
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    // A third of the mantissas are next to a power of two, where quotients are hardest to round.
    const auto mantissa = [&] {
      const std::uint32_t r = random() & 0x7fffffu;
      return i % 3 ? r : (i & 1 ? r & 0xfu : 0x7fffffu ^ (r & 0xfu));
    };
    const float a = of_bits((127 - 60 + random() % 120) << 23 | mantissa());
    const float d = of_bits((127 - 60 + random() % 120) << 23 | mantissa());
    RowDivisor by = row_divisor(d);
    EXPECT_TRUE(by.ordinary);
    by.reciprocal = of_bits(std::bit_cast<std::uint32_t>(by.reciprocal) + reciprocal_off_by);
    wrong += ordinary_quotient(a, by) != a / d;
  }
  return wrong;
}

TEST(RowDivisor, OrdinaryQuotientsAreCorrectlyRounded) { EXPECT_EQ(differing(0, 1'000'000), 0u); }

TEST(RowDivisor, AReciprocalOffByFourUlpIsSeen) { EXPECT_GT(differing(4, 100'000), 0u); }

TEST(RowDivisor, ChunksOutsideTheOrdinaryRangeAreDivided) {
  const float inf = positive_infinity();
  const float values[] = {0.0f, 0x1p-149f, 0x1.8p-127f, 0x1p-61f, 1.0f, 0x1p61f, 0x1.fffffep127f, inf};
  for (const float d : {0x1p-149f, 0x1p-70f, 0.3f, 1.0f, 3.0f, 0x1p126f, 0x1.2p127f, inf, quiet_nan()})
    for (const float first : values)
      for (const float second : values) {
        // By contract, the divisor (a sum) is at least as large as its terms.
        if (row_divisor(d).ordinary && !(first <= d && second <= d)) continue;
        Chunk<2> c{{first, second}, 0};
        divide_chunk<f32>(c, row_divisor(d));
        for (int j = 0; j < 2; ++j) {
          const float want = (j ? second : first) / d;
          EXPECT_TRUE(c.x[j] == want || (c.x[j] != c.x[j] && want != want))
              << (j ? second : first) << " / " << d << " gave " << c.x[j];
        }
      }
}

TEST(RowDivisor, NanStaysNanBesideOrdinaryValues) {
  Chunk<4> c{{0.5f, quiet_nan(), 0.25f, 1.0f}, 0};
  divide_chunk<f32>(c, row_divisor(3.0f));
  EXPECT_TRUE(c.x[1] != c.x[1]);
  EXPECT_EQ(c.x[0], 0.5f / 3.0f);
  Chunk<1> alone = single(quiet_nan());
  divide_chunk<f32>(alone, row_divisor(3.0f));
  EXPECT_TRUE(alone.x[0] != alone.x[0]);
}

TEST(RowDivisor, TinyQuotientsOfHalvesRoundAsIfDivided) {
  std::mt19937 random(11);
  for (int i = 0; i < 200'000; ++i) {
    // Any numerator up to 1, including subnormals and 0, over any ordinary divisor from 1 on.
    const float a = of_bits(random() % 0x3f800001u);
    const float d = of_bits((127 + random() % 60) << 23 | (random() & 0x7fffffu));
    Chunk<2> c{{a, i % 2 ? 0.0f : 0x1p-149f}, 0};
    const float second = c.x[1];
    divide_chunk<f16>(c, row_divisor(d));
    ASSERT_EQ(to_float(from_float<f16>(c.x[0])), to_float(from_float<f16>(a / d))) << a << " / " << d;
    ASSERT_EQ(to_float(from_float<f16>(c.x[1])), to_float(from_float<f16>(second / d)))
        << second << " / " << d;
  }
}

}  // namespace
}  // namespace assay::host
