// SPDX-License-Identifier: Apache-2.0
// At every alignment, either walk reads every element of a row once, and write_row writes it once. Which
// thread gets an element in a walk by chunks does not depend on where the row starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#define ASSAY_BACKEND host
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"

namespace assay::host {
namespace {

constexpr int kThreads = 32;

template <class T>
struct RowWalk : testing::Test {};
using Types = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(RowWalk, Types);

template <int N>
Chunk<N> chunk(const std::array<float, N>& x) {
  Chunk<N> c{{}, x[0]};
  for (int j = 0; j < N; ++j) {
    c.x[j] = x[static_cast<std::size_t>(j)];
    c.largest = fmaxf(c.largest, c.x[j]);
  }
  return c;
}

/// The i-th of many distinct positive numbers of a type (16 bits: by its bits, from below to above 1), and
/// the inverse: which i a number has.
template <class T>
T nth(int i) {
  if constexpr (sizeof(T) == 4) return static_cast<T>(i + 1);
  const auto bits = static_cast<std::uint16_t>(0x3800 + i);
  T x;
  memcpy(&x, &bits, sizeof bits);
  return x;
}
template <class T>
int which(float v) {
  const T x = from_float<T>(v);
  if constexpr (sizeof(T) == 4) return static_cast<int>(x) - 1;
  std::uint16_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits - 0x3800;
}

/// A row of V distinct values, `offset` elements past a sector boundary, with a poison value around it.
template <class T>
struct Row {
  alignas(32) std::array<T, 1100> memory;
  T* x = nullptr;
  Row(int offset, int V) {
    memory.fill(from_float<T>(-1.0f));
    x = memory.data() + 16 + offset;
    for (int i = 0; i < V; ++i) x[i] = nth<T>(i);
  }
};

constexpr std::array kLengths = {0,   1,   2,   3,   4,   7,    8,    9,    15,   16,  17,
                                 23,  24,  25,  31,  32,  33,   63,   64,   65,   127, 255,
                                 256, 257, 300, 511, 777, 1008, 1023, 1024, 1025, 1030};

TYPED_TEST(RowWalk, EveryElementOnceAtEveryAlignment) {
  using T = TypeParam;
  for (int offset = 0; offset < kPerAccess<T>; ++offset)
    for (const int V : kLengths) {
      const Row<T> row(offset, V);
      std::vector<int> seen(static_cast<std::size_t>(V), 0);
      for (int thread = 0; thread < kThreads; ++thread) {
        std::int64_t mine = 0;
        walk_row<kThreads, 4>(row.x, V, thread, [&](const auto& c) {
          for (const float v : c.x) {
            const auto i = static_cast<std::size_t>(which<T>(v));
            ASSERT_LT(i, seen.size());
            ++seen[i];
            ++mine;
          }
        });
        EXPECT_LE(mine, V);
      }
      for (const int times : seen) EXPECT_EQ(times, 1) << "offset " << offset << ", V " << V;
    }
}

/// Doubles an element in a vector access and negates a single one. The result shows how often, and how, it
/// was passed.
struct Marked {
  template <class C>
  void operator()(C& c) const {
    for (float& v : c.x) v *= sizeof c.x > sizeof(float) ? 2.0f : -1.0f;
  }
};

template <class T, int kAhead>
void expect_written(int offset, int to_offset, int V, bool in_place) {
  Row<T> row(offset, V);
  Row<T> out(to_offset, 0);
  T* const p = in_place ? row.x : out.x;
  for (int thread = 0; thread < kThreads; ++thread)
    write_row<kThreads, kAhead>(static_cast<const T*>(row.x), p, V, thread, Marked());
  // Vector accesses begin at the first sector boundary in the logits.
  const int sector = 32 / static_cast<int>(sizeof(T));
  const int head = std::min(V, (sector - offset % sector) % sector);
  const int tail = head + (V - head) / kPerAccess<T> * kPerAccess<T>;
  for (int i = 0; i < V; ++i)
    EXPECT_EQ(to_float(p[i]), to_float(nth<T>(i)) * (i < head || i >= tail ? -1.0f : 2.0f))
        << "offsets " << offset << ", " << to_offset << ", V " << V << ", i " << i;
  const Row<T>& written = in_place ? row : out;
  const auto begin = static_cast<std::size_t>(p - written.memory.data());
  for (std::size_t i = 0; i < written.memory.size(); ++i) {
    const bool inside = i >= begin && i < begin + static_cast<std::size_t>(V);
    EXPECT_TRUE(inside || to_float(written.memory[i]) == -1.0f)
        << "offset " << offset << ", V " << V << ", at " << i;
  }
}

TYPED_TEST(RowWalk, WritesEveryElementOnceAtEveryAlignmentAndInPlace) {
  using T = TypeParam;
  for (int offset = 0; offset < 2 * kPerAccess<T>; ++offset)
    for (const int V : kLengths) {
      expect_written<T, 1>(offset, 0, V, true);
      expect_written<T, 2>(offset, 0, V, true);
      expect_written<T, 4>(offset, (offset + 1) % kPerAccess<T>, V, false);
      expect_written<T, 1>(offset, offset % kPerAccess<T>, V, false);
      expect_written<T, 2>(offset, (offset + kPerAccess<T>) % (2 * kPerAccess<T>), V, false);
    }
}

TYPED_TEST(RowWalk, ChunksBelongToTheSameThreadWhereverTheRowStarts) {
  using T = TypeParam;
  for (int V : {1, 5, 8, 17, 64, 100, 257, 300, 511, 1030}) {
    std::vector<std::vector<float>> first;
    for (int offset = 0; offset < kPerAccess<T>; ++offset) {
      const Row<T> row(offset, V);
      std::vector<std::vector<float>> order(kThreads);
      std::size_t all = 0;
      for (int thread = 0; thread < kThreads; ++thread) {
        auto& mine = order[static_cast<std::size_t>(thread)];
        walk_chunks<kThreads, 4>(row.x, V, thread, [&](const auto& c) {
          const bool idle = c.largest == negative_infinity();  // no element of these rows is -inf
          for (const float v : c.x) {
            if (idle)
              EXPECT_EQ(v, negative_infinity());
            else
              mine.push_back(v);
          }
        });
        EXPECT_LE(static_cast<std::int64_t>(mine.size()), chunk_share<T>(V, kThreads));
        all += mine.size();
      }
      EXPECT_EQ(all, static_cast<std::size_t>(V));
      if (offset == 0)
        first = order;
      else
        EXPECT_EQ(order, first) << "offset " << offset << ", V " << V;
    }
  }
}

TEST(FoldChunk, KeepsNanAndSkipsNegativeInfinity) {
  const float inf = positive_infinity();
  Normalizer n = identity();
  fold_chunk<AccurateExp>(n, chunk<4>({-inf, -inf, -inf, -inf}));
  EXPECT_EQ(n.m, -inf);
  EXPECT_EQ(n.d, 0.0f);
  fold_chunk<AccurateExp>(n, chunk<4>({1.0f, -inf, 1.0f, 0.0f}));
  EXPECT_EQ(n.m, 1.0f);
  EXPECT_EQ(n.d, 2.0f + expf(-1.0f));
  fold_chunk<AccurateExp>(n, single(quiet_nan()));
  EXPECT_TRUE(n.d != n.d);
  Normalizer only_nan = identity();
  fold_chunk<AccurateExp>(only_nan, chunk<4>({-inf, quiet_nan(), -inf, -inf}));
  const Normalizer merged = combine(folded(only_nan), leaf(3.0f));
  EXPECT_TRUE(merged.d != merged.d) << "the identity swallowed a NaN";
  Normalizer infinite = identity();
  fold_chunk<AccurateExp>(infinite, chunk<2>({2.0f, inf}));
  EXPECT_TRUE(infinite.d != infinite.d);
}

}  // namespace

// Compares quotients by a shared divisor with IEEE division, on the host: random and edge mantissas, every
// exponent. A GPU sweeps the whole set of mantissa pairs (accuracy/functions/pairs.hpp).

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
