// SPDX-License-Identifier: Apache-2.0
// Cooperative groups, CUB's reductions and the old warp words, compared with their documentation.
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/host/executor_test.hpp"

// These need the name of the backend, defined above.
#include "kernels/host/cooperative_groups.hpp"
#include "kernels/host/cub.hpp"
#include "kernels/host/cuda_intrinsics.hpp"

namespace assay::host_test {
namespace {

namespace cg = cooperative_groups;

template <unsigned N>
void check_tiles(std::uint64_t seed) {
  const Seeded seeded(seed);
  unsigned wrong = 0;
  const std::string fault = fault_of(2, dim3(8, 9), [&] {  // 72 threads: two warps and a quarter
    const auto tile = cg::tiled_partition<N>(cg::this_thread_block());
    const unsigned thread = thread_number(), rank = thread % N, first = thread - rank;
    const auto require = [&](bool right) {
      if (!right) atomicAdd(&wrong, 1u);
    };
    require(tile.thread_rank() == rank && tile.size() == N && tile.num_threads() == N);
    require(tile.meta_group_rank() == thread / N && tile.meta_group_size() == (72 + N - 1) / N);
    if (first + N > 72) return;  // shuffles would read threads that do not exist
    require(tile.shfl(thread, 0) == first);
    require(tile.shfl_xor(thread, N / 2) == (thread ^ N / 2));
    require(tile.shfl_down(thread, 1) == (rank + 1 < N ? thread + 1 : thread));
    require(tile.shfl_up(thread, 1) == (rank > 0 ? thread - 1 : thread));
    require(tile.ballot(rank == 0) == 1 && tile.any(rank == 0) && (tile.all(rank == 0) != 0) == (N == 1));
    require(cg::reduce(tile, thread, cg::plus<unsigned>()) == N * first + N * (N - 1) / 2);
    require(cg::reduce(tile, thread, cg::greater<unsigned>()) == first + N - 1);
    require(cg::reduce(tile, static_cast<float>(thread), cg::less<>()) == static_cast<float>(first));
    tile.sync();
    cg::sync(tile);
    const cg::thread_block_tile<N> plain = tile;
    require(plain.meta_group_rank() == thread / N && plain.shfl(thread, 0) == first);
  });
  EXPECT_EQ(fault, "") << N << " seed " << seed;
  EXPECT_EQ(wrong, 0u) << N << " seed " << seed;
}

TEST(CooperativeGroups, TilesOfEverySize) {
  for (std::uint64_t seed = 0; seed < (kSlow ? 2 : 5); ++seed) {
    check_tiles<1>(seed);
    check_tiles<2>(seed);
    check_tiles<4>(seed);
    check_tiles<8>(seed);
    check_tiles<16>(seed);
    check_tiles<32>(seed);
  }
}

TEST(CooperativeGroups, BlocksGridsAndTilesOfTiles) {
  unsigned wrong = 0;
  std::array<unsigned, 3 * 64> seen{};
  launch(3, dim3(4, 16), [&] {
    ASSAY_SHARED(unsigned, partial, 64);
    const cg::thread_block block = cg::this_thread_block();
    const cg::grid_group grid = cg::this_grid();
    partial[block.thread_rank()] = thread_number();
    cg::sync(block);
    bool right = partial[63 - thread_number()] == 63 - thread_number() && block.size() == 64 &&
                 block.group_index().x == blockIdx.x && block.thread_index().y == threadIdx.y &&
                 block.dim_threads().y == 16 && grid.size() == 192 && grid.num_blocks() == 3;
    const auto inner = cg::tiled_partition<4>(cg::tiled_partition<16>(block));
    right = right && inner.meta_group_rank() == thread_number() % 16 / 4 && inner.meta_group_size() == 4 &&
            inner.shfl(thread_number(), 3) == thread_number() / 4 * 4 + 3;
    const cg::thread_group any = cg::tiled_partition(block, 8);
    right = right && any.size() == 8 && any.thread_rank() == thread_number() % 8;
    any.sync();
    atomicAdd(&seen[grid.thread_rank()], 1u);
    if (!right) atomicAdd(&wrong, 1u);
  });
  EXPECT_EQ(wrong, 0u);
  for (const unsigned n : seen) EXPECT_EQ(n, 1u);
}

TEST(CooperativeGroups, AThreadThatDoesNotComeIsAFault) {
  const std::string fault = fault_of(1, 32, [] {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    if (threadIdx.x != 20) cg::reduce(tile, 1, cg::plus<int>());
    __syncthreads();
  });
  EXPECT_NE(fault.find("no thread can go on"), std::string::npos) << fault;
  EXPECT_NE(fault.find("threads 16-19,21-31 wait in __shfl_xor_sync"), std::string::npos) << fault;
}

/// Larger than what one shuffle carries, and its operation does not commute.
struct Affine {
  double scale, shift;
  unsigned terms;
};
Affine then(const Affine& a, const Affine& b) {
  return {a.scale * b.scale, a.shift * b.scale + b.shift, a.terms + b.terms};
}

TEST(Cub, BlocksOfManySizesReduceInOrder) {
  const auto check = [](auto threads, int count) {
    constexpr int kThreads = decltype(threads)::value;
    using Reduce = cub::BlockReduce<Affine, kThreads>;
    Affine expected{1, 0, 0}, got{};
    const auto term = [](unsigned t) { return Affine{t % 2 ? 0.5 : 2.0, double(t), 1}; };
    for (int t = 0; t < count; ++t) expected = then(expected, term(static_cast<unsigned>(t)));
    const std::string fault = fault_of(1, static_cast<unsigned>(kThreads), [&] {
      ASSAY_SHARED(typename Reduce::TempStorage, storage, 1);
      const Affine r = count == kThreads ? Reduce(storage[0]).Reduce(term(threadIdx.x), then)
                                         : Reduce(storage[0]).Reduce(term(threadIdx.x), then, count);
      if (threadIdx.x == 0) got = r;
    });
    EXPECT_EQ(fault, "") << kThreads << " " << count;
    EXPECT_EQ(got.terms, static_cast<unsigned>(count)) << kThreads;
    EXPECT_DOUBLE_EQ(got.scale, expected.scale) << kThreads << " " << count;
    EXPECT_DOUBLE_EQ(got.shift, expected.shift) << kThreads << " " << count;
  };
  for (const int count : {1, 2, 31, 32, 33, 64, 100, 128}) check(std::integral_constant<int, 128>(), count);
  check(std::integral_constant<int, 1>(), 1);
  check(std::integral_constant<int, 20>(), 20);
  check(std::integral_constant<int, 33>(), 33);
  check(std::integral_constant<int, 200>(), 200);
  if (!kSlow) check(std::integral_constant<int, 1024>(), 1024);
}

TEST(Cub, MaximaSumsItemsAndOwnStorage) {
  float sum = 0, largest = 0, items = 0;
  cub::KeyValuePair<int, float> where;
  EXPECT_EQ(fault_of(1, 64,
                     [&] {
                       const auto x = static_cast<float>((threadIdx.x * 37 + 5) % 64);
                       float pair[2] = {x, 1};
                       const float s = cub::BlockReduce<float, 64>().Sum(x);
                       __syncthreads();
                       const float m = cub::BlockReduce<float, 64>().Reduce(x, cub::Max());
                       __syncthreads();
                       const float i = cub::BlockReduce<float, 64>().Sum(pair);
                       using Pair = cub::KeyValuePair<int, float>;
                       const Pair w = cub::BlockReduce<Pair, 64, cub::BLOCK_REDUCE_RAKING>().Reduce(
                           Pair(int(threadIdx.x), std::fmin(x, 60.0f)), cub::ArgMax());
                       if (threadIdx.x == 0) sum = s, largest = m, items = i, where = w;
                     }),
            "");
  EXPECT_EQ(sum, 63 * 32);
  EXPECT_EQ(largest, 63);
  EXPECT_EQ(items, 63 * 32 + 64);
  int first = 0;
  while ((first * 37 + 5) % 64 < 60) ++first;
  EXPECT_EQ(where.key, first);
  EXPECT_EQ(where.value, 60);
}

TEST(Cub, WarpsAndPartsOfThem) {
  unsigned wrong = 0;
  EXPECT_EQ(fault_of(1, 96,
                     [&] {
                       using Warp = cub::WarpReduce<int>;
                       using Quad = cub::WarpReduce<int, 4>;
                       ASSAY_SHARED(Warp::TempStorage, storage, 3);
                       ASSAY_SHARED(Quad::TempStorage, quads, 24);
                       const int t = static_cast<int>(threadIdx.x);
                       const int s = Warp(storage[t / 32]).Sum(t),
                                 m = Warp(storage[t / 32]).Reduce(t, cub::Max());
                       const int part = Warp(storage[t / 32]).Sum(t, 5);
                       const int q = Quad(quads[t / 4]).Reduce(t, cub::Min());
                       const int w = t / 32 * 32;
                       if (t % 32 == 0 && (s != 32 * w + 496 || m != w + 31 || part != 5 * w + 10))
                         atomicAdd(&wrong, 1u);
                       if (t % 4 == 0 && q != t) atomicAdd(&wrong, 1u);
                     }),
            "");
  EXPECT_EQ(wrong, 0u);
}

TEST(Cub, OtherThreadsGetNothingOfUse) {
  // On a GPU the other threads get a part of the result. A kernel that relies on it is wrong.
  std::vector<unsigned> got(64);
  launch(1, 64, [&] { got[threadIdx.x] = __float_as_uint(cub::BlockReduce<float, 64>().Sum(1.0f)); });
  EXPECT_EQ(got[0], __float_as_uint(64.0f));
  for (unsigned t = 1; t < 64; ++t) EXPECT_TRUE(got[t] == 0xffffffffu || got[t] == 0x71717171u) << t;
}

TEST(Cub, MisusesAreFaults) {
  EXPECT_NE(fault_of(1, 64, [] { cub::BlockReduce<int, 32>().Sum(1); })
                .find("cub::BlockReduce of 32 threads in a block of 64"),
            std::string::npos);
  // The block has fewer threads than the reduction is for, and the call does not say how many count.
  EXPECT_NE(
      fault_of(1, 16, [] { cub::BlockReduce<int, 32>().Sum(1); }).find("which has exited or does not exist"),
      std::string::npos);
  int sum = 0;
  EXPECT_EQ(fault_of(1, 16,
                     [&] {
                       const int s = cub::BlockReduce<int, 1024>().Sum(1, 16);
                       if (threadIdx.x == 0) sum = s;
                     }),
            "");
  EXPECT_EQ(sum, 16);
}

TEST(OldWarpWords, AreThoseOfTheWholeWarp) {
  unsigned wrong = 0;
  EXPECT_EQ(fault_of(1, 64,
                     [&] {
                       const unsigned t = threadIdx.x;
                       if (__shfl(t, 3) != t / 32 * 32 + 3 || __shfl_xor(t, 5) != (t ^ 5u) ||
                           __shfl_up(t, 1) != (t % 32 ? t - 1 : t) ||
                           __shfl_down(t, 1, 8) != (t % 8 < 7 ? t + 1 : t) ||
                           __ballot(t % 2 == 0) != 0x55555555u || !__any(t % 32 == 9) || __all(t % 32 == 9))
                         atomicAdd(&wrong, 1u);
                     }),
            "");
  EXPECT_EQ(wrong, 0u);
  EXPECT_NE(fault_of(1, 32,
                     [] {
                       if (threadIdx.x < 16) __shfl_xor(1, 1);
                       __syncthreads();
                     })
                .find("no thread can go on"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::host_test
