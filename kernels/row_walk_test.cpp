// Every element of a row is handed out once, by either walk, at every alignment; who gets which element of a
// walk by chunks does not depend on where the row starts.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#define ASSAY_BACKEND host
#include "kernels/row_walk.cuh"

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

/// A row of V distinct small values, `offset` elements off a 16-byte boundary, with poison around it.
template <class T>
struct Row {
  alignas(16) std::array<T, 1100> memory;
  T* x = nullptr;
  Row(int offset, int V) {
    memory.fill(from_float<T>(-1.0f));
    x = memory.data() + 8 + offset;
    for (int i = 0; i < V; ++i) x[i] = from_float<T>(static_cast<float>(i % 128));
  }
};

TYPED_TEST(RowWalk, EveryElementOnceAtEveryAlignment) {
  using T = TypeParam;
  for (int offset = 0; offset < kPerAccess<T>; ++offset)
    for (int V :
         {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 256, 257, 300, 511, 777, 1030}) {
      const Row<T> row(offset, V);
      std::vector<int> seen(static_cast<std::size_t>(V), 0);
      for (int thread = 0; thread < kThreads; ++thread) {
        std::int64_t mine = 0;
        walk_row<kThreads, 4>(row.x, V, thread, [&](const auto& c, std::int64_t i) {
          for (const float v : c.x) {
            ASSERT_LT(i, V);
            EXPECT_EQ(v, static_cast<float>(i % 128));
            ++seen[static_cast<std::size_t>(i++)];
            ++mine;
          }
        });
        EXPECT_LE(mine, V);
      }
      for (const int times : seen) EXPECT_EQ(times, 1) << "offset " << offset << ", V " << V;
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
}  // namespace assay::host
