// SPDX-License-Identifier: Apache-2.0
// The executor's launches: the index words, every thread runs exactly once, seeds permute and repeat, block
// barriers, limits, and several OS threads at once.
#include "kernels/host/executor_test.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace assay::host_test {
namespace {

const std::vector<dim3> kGrids = {{1}, {7}, {2, 3}, {3, 1, 5}, {2, 2, 2}};
const std::vector<dim3> kBlocks = {{1}, {31}, {33}, {96}, {8, 5}, {4, 3, 7}, {1, 1, 64}};

TEST(Executor, IndexWords) {
  for (dim3 grid : kGrids)
    for (dim3 block : kBlocks) {
      const auto threads = static_cast<unsigned>(block.count());
      struct Seen {
        dim3 thread, block, threads, blocks;
      };
      std::vector<Seen> seen(grid.count() * threads);
      launch(grid, block, [&] {
        seen[block_number() * threads + thread_number()] = {threadIdx, blockIdx, blockDim, gridDim};
      });
      std::size_t i = 0;
      const auto same = [](dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
      for (unsigned bz = 0; bz < grid.z; ++bz)
        for (unsigned by = 0; by < grid.y; ++by)
          for (unsigned bx = 0; bx < grid.x; ++bx)
            for (unsigned tz = 0; tz < block.z; ++tz)
              for (unsigned ty = 0; ty < block.y; ++ty)
                for (unsigned tx = 0; tx < block.x; ++tx, ++i) {
                  ASSERT_TRUE(same(seen[i].thread, {tx, ty, tz}) && same(seen[i].block, {bx, by, bz})) << i;
                  ASSERT_TRUE(same(seen[i].threads, block) && same(seen[i].blocks, grid)) << i;
                }
    }
}

TEST(Executor, EveryThreadRunsExactlyOnce) {
  for (std::uint64_t seed = 0; seed < (kSlow ? 3 : 20); ++seed) {
    const Seeded seeded(seed);
    for (dim3 grid : kGrids)
      for (dim3 block : kBlocks) {
        std::vector<unsigned> runs(grid.count() * block.count());
        launch(grid, block, [&] {
          atomicAdd(&runs[block_number() * block.count() + thread_number()], 1u);
          __syncthreads();
        });
        ASSERT_EQ(std::count(runs.begin(), runs.end(), 1u), static_cast<long>(runs.size()))
            << "seed " << seed;
      }
  }
}

/// The numbers of the threads of the whole grid, in the order in which they run.
std::vector<unsigned> order_of(std::uint64_t seed, dim3 grid, dim3 block) {
  const Seeded seeded(seed);
  std::vector<unsigned> order(grid.count() * block.count());
  unsigned next = 0;
  launch(grid, block, [&] {
    order[atomicAdd(&next, 1u)] = block_number() * static_cast<unsigned>(block.count()) + thread_number();
  });
  return order;
}

TEST(Executor, SeedZeroRunsInIndexOrder) {
  const std::vector<unsigned> order = order_of(0, 3, 70);
  std::vector<unsigned> expected(order.size());
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(order, expected);
}

TEST(Executor, SeedsRepeatAndDiffer) {
  std::set<std::vector<unsigned>> orders;
  std::set<unsigned> first_blocks, first_warps, first_lanes;
  const int seeds = kSlow ? 6 : 30;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::vector<unsigned> order = order_of(static_cast<std::uint64_t>(seed), 5, 96);
    ASSERT_EQ(order_of(static_cast<std::uint64_t>(seed), 5, 96), order) << "seed " << seed;
    orders.insert(order);
    first_blocks.insert(order[0] / 96);
    first_warps.insert(order[0] % 96 / 32);
    first_lanes.insert(order[0] % 32);
  }
  EXPECT_EQ(orders.size(), static_cast<std::size_t>(seeds));
  // Each of the three is permuted: blocks, warps and lanes.
  EXPECT_GT(first_blocks.size(), 1u);
  EXPECT_GT(first_warps.size(), 1u);
  EXPECT_GT(first_lanes.size(), 1u);
}

#if !defined(__SANITIZE_THREAD__)  // the missing barrier is a race, and TSan would report it
/// Each thread adds what its neighbours wrote. Without the barrier it may read too early.
std::vector<int> neighbours(bool barrier, std::uint64_t seed) {
  const Seeded seeded(seed);
  std::vector<int> out(64);
  launch(1, 64, [&] {
    ASSAY_SHARED(int, tile, 64);
    const int t = static_cast<int>(threadIdx.x);
    tile[t] = t * t;
    if (barrier) __syncthreads();
    out[static_cast<std::size_t>(t)] = tile[(t + 1) % 64] - tile[(t + 63) % 64];
  });
  return out;
}

TEST(Executor, MissingBarrierShowsUnderSomeSeed) {
  const std::vector<int> right = neighbours(true, 0);
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(neighbours(true, seed), right) << "seed " << seed;
    wrong += neighbours(false, seed) != right;
  }
  EXPECT_GT(wrong, 0);
}
#endif

TEST(Executor, BlockBarrierResults) {
  for (unsigned threads : {1u, 31u, 32u, 33u, 100u})
    for (std::uint64_t seed : {0u, 1u, 2u}) {
      const Seeded seeded(seed);
      unsigned wrong = 0;
      launch(2, threads, [&] {
        const unsigned t = threadIdx.x;
        // Repeated: a thread that takes its result late, from a later barrier, would show.
        for (unsigned modulus = 1; modulus <= 5; ++modulus) {
          const int expected = static_cast<int>((threads + modulus - 1) / modulus);
          const int count = __syncthreads_count(t % modulus == 0 ? 7 : 0);
          const int all = __syncthreads_and(t % modulus == 0);
          const int any = __syncthreads_or(t == threads - 1 && modulus % 2);
          const bool right = count == expected && (all != 0) == (expected == static_cast<int>(threads)) &&
                             (any != 0) == (modulus % 2 == 1);
          if (!right) atomicAdd(&wrong, 1u);
        }
      });
      EXPECT_EQ(wrong, 0u) << threads;
    }
}

TEST(Executor, ExitedThreadsAreNotWaitedForAtBarriers) {
  for (std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    const Seeded seeded(seed);
    unsigned passed = 0, counted = 0;
    launch(1, 70, [&] {
      if (threadIdx.x % 3 == 0) return;
      atomicAdd(&counted, static_cast<unsigned>(__syncthreads_count(1)));
      atomicAdd(&passed, 1u);
    });
    EXPECT_EQ(passed, 46u);
    EXPECT_EQ(counted, 46u * 46u);
  }
}

TEST(Executor, LargestBlock) {
  std::vector<unsigned> out(1024);
  launch(1, dim3(32, 32), [&] {
    ASSAY_SHARED(unsigned, tile, 1024);
    const unsigned t = thread_number();
    tile[t] = t;
    __syncthreads();
    out[t] = tile[1023 - t];
  });
  for (unsigned t = 0; t < 1024; ++t) ASSERT_EQ(out[t], 1023 - t);
}

TEST(Executor, ManyBlocksReuseFibers) {
  const unsigned blocks = kSlow ? 200 : 2000;
  std::vector<unsigned> sums(blocks);
  std::set<const void*> stacks;  // where each thread's locals live: the same few stacks are used again
  launch(blocks, 64, [&] {
    ASSAY_SHARED(unsigned, total, 1);
    const int local = 0;
    if (threadIdx.x == 0) total[0] = blockIdx.x;
    __syncthreads();
    atomicAdd(&total[0], threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      sums[blockIdx.x] = total[0];
      if (!kSlow) stacks.insert(&local);
    }
  });
  for (unsigned b = 0; b < blocks; ++b) ASSERT_EQ(sums[b], b + 2016);
  EXPECT_LE(stacks.size(), kSlow ? 0u : 64u);
}

TEST(Executor, InvalidLaunches) {
  int ran = 0;
  const auto kernel = [&] { atomicAdd(&ran, 1); };
  EXPECT_NE(fault_of(0, 32, kernel).find("invalid grid 0 x 1 x 1"), std::string::npos);
  EXPECT_NE(fault_of(dim3(1, 65536), 32, kernel).find("invalid grid 1 x 65536 x 1"), std::string::npos);
  EXPECT_NE(fault_of(dim3(1, 1, 65536), 32, kernel).find("invalid grid"), std::string::npos);
  EXPECT_NE(fault_of(dim3(0x80000000u), 32, kernel).find("invalid grid"), std::string::npos);
  EXPECT_NE(fault_of(1, 0, kernel).find("invalid block of 0 threads"), std::string::npos);
  EXPECT_NE(fault_of(1, 1025, kernel).find("invalid block of 1025 threads"), std::string::npos);
  EXPECT_NE(fault_of(1, dim3(33, 32), kernel).find("invalid block of 1056 threads"), std::string::npos);
  EXPECT_NE(fault_of(1, dim3(1, 1, 65), kernel).find("invalid block of 65 threads (1 x 1 x 65)"),
            std::string::npos);
  EXPECT_NE(fault_of(1, 32, executor::kMaxShared + 1, kernel).find("232449 bytes exceeds 232448"),
            std::string::npos);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(fault_of(1, 32, executor::kMaxShared, kernel), "");
  EXPECT_EQ(ran, 32);
}

TEST(Executor, OsThreadsLaunchConcurrently) {
  constexpr unsigned kCount = 40;
  std::vector<unsigned> out[2] = {std::vector<unsigned>(kCount), std::vector<unsigned>(kCount)};
  std::string faults[2];
  const auto work = [&](unsigned id) {
    const Seeded seeded(id);
    launch(kCount, 48, [&] {
      ASSAY_SHARED(unsigned, tile, 48);
      tile[threadIdx.x] = threadIdx.x * (id + 1);
      __syncthreads();
      if (threadIdx.x != 47) return;
      unsigned sum = 0;
      for (unsigned v : tile) sum += v;
      out[id][blockIdx.x] = sum + blockIdx.x;
    });
    // A fault of one OS thread's kernel does not affect the other OS thread.
    faults[id] = fault_of(1, 32, [&] {
      if (threadIdx.x == id) __syncwarp();
      __syncthreads();
    });
  };
  std::thread first(work, 0u), second(work, 1u);
  first.join();
  second.join();
  for (unsigned id : {0u, 1u}) {
    for (unsigned b = 0; b < kCount; ++b) ASSERT_EQ(out[id][b], 1128 * (id + 1) + b);
    EXPECT_NE(faults[id].find("__syncwarp"), std::string::npos) << faults[id];
  }
}

// One OS thread gives back the memory of its fibers while another maps its own, at the same addresses.
TEST(Executor, OsThreadsComeAndGo) {
  constexpr int kTurns = kSlow ? 20 : 200;
  std::atomic<unsigned> ran = 0;
  const auto work = [&] {
    for (int turn = 0; turn < kTurns; ++turn) std::thread([&] { launch(2, 32, [&] { ran += 1; }); }).join();
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(ran, 2u * kTurns * 2 * 32);
}

}  // namespace
}  // namespace assay::host_test
