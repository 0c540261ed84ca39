// SPDX-License-Identifier: Apache-2.0
// Data races of CUDA kernels, found on a CPU by ThreadSanitizer. Planted races are reported, right kernels
// are not. Each kernel runs in a child process, because a report decides the exit status of its process.
#include <cstdlib>
#include <vector>

#include "kernels/host/executor_test.hpp"

namespace assay::host_test {
namespace {

#if defined(__SANITIZE_THREAD__)
template <class Kernel>
[[noreturn]] void run_and_exit(dim3 grid, dim3 block, const Kernel& kernel) {
  launch(grid, block, kernel);
  std::exit(0);
}
// 66 is ThreadSanitizer's exit status after a report. The child is a fresh process, not a fork: in the fork
// of a process that has fibers, ThreadSanitizer ignores the main thread's edges.
#define EXPECT_CHILD(status, text, ...)           \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(run_and_exit(__VA_ARGS__), testing::ExitedWithCode(status), text)
#define EXPECT_RACE(...) EXPECT_CHILD(66, "data race", __VA_ARGS__)
#define EXPECT_NO_RACE(...) EXPECT_CHILD(0, "", __VA_ARGS__)
#else
#define EXPECT_RACE(...) GTEST_SKIP() << "needs a ThreadSanitizer build"
#define EXPECT_NO_RACE(...) launch(__VA_ARGS__)
#endif

int race_out[128];  // global memory

/// Threads exchange values through shared memory three times. `first`: a barrier between a write and the
/// read. `second`: a barrier between a read and the next write.
void exchange(bool first, bool second) {
  ASSAY_SHARED(int, tile, 64);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  int v = t;
  for (int round = 1; round <= 3; ++round) {
    tile[t] = v;
    if (first) __syncthreads();
    v += tile[(t + round) % n];
    if (second) __syncthreads();
  }
  race_out[t] = v;
}

TEST(Executor, BarriersOrderMemory) {
  EXPECT_NO_RACE(1, 64, [] { exchange(true, true); });
}
TEST(Executor, RaceWithoutBarrierBeforeRead) {
  EXPECT_RACE(1, 64, [] { exchange(false, true); });
}
TEST(Executor, RaceWithoutBarrierAfterRead) {
  EXPECT_RACE(1, 64, [] { exchange(true, false); });
}

/// The same exchange inside a warp.
void exchange_in_warp(bool first, bool second, unsigned mask) {
  ASSAY_SHARED(int, tile, 32);
  const int l = static_cast<int>(threadIdx.x);
  int v = l;
  for (int round = 1; round <= 3; ++round) {
    tile[l] = v;
    if (first) __syncwarp(mask);
    v += tile[l ^ round];
    if (second) __syncwarp(mask);
  }
  race_out[l] = v;
}
/// The lanes of a quad exchange values only among themselves.
unsigned quad() { return 0xfu << threadIdx.x / 4 * 4; }

TEST(Executor, SyncwarpOrdersMemory) {
  EXPECT_NO_RACE(1, 32, [] { exchange_in_warp(true, true, ~0u); });
}
TEST(Executor, SyncwarpOfPartsOrdersMemory) {
  EXPECT_NO_RACE(1, 32, [] { exchange_in_warp(true, true, quad()); });
}
TEST(Executor, RaceWithoutSyncwarpBeforeRead) {
  EXPECT_RACE(1, 32, [] { exchange_in_warp(false, true, ~0u); });
}
TEST(Executor, RaceWithoutSyncwarpAfterRead) {
  EXPECT_RACE(1, 32, [] { exchange_in_warp(true, false, ~0u); });
}
TEST(Executor, RaceBetweenPartsOfWarp) {
  EXPECT_RACE(1, 32, [] {
    exchange_in_warp(true, true, 3u << threadIdx.x / 2 * 2);
  });  // in rounds 2 and 3 lanes read outside their pair
}
TEST(Executor, RaceWithALaneThatHasExited) {
  // Lane 31 exits last, and so completes the others' __syncwarp. This does not order lane 31's own memory.
  EXPECT_RACE(1, 32, [] {
    ASSAY_SHARED(int, tile, 1);
    if (threadIdx.x == 31) {
      tile[0] = 1;
      return;
    }
    __syncwarp();
    race_out[threadIdx.x] = tile[0];
  });
}
TEST(Executor, SyncwarpOfTheLanesThatAreLeftOrdersMemory) {
  EXPECT_NO_RACE(1, 32, [] {
    if (threadIdx.x >= 28 || threadIdx.x < 4) return;
    exchange_in_warp(true, true, ~0u);
  });
}
TEST(Executor, RaceThroughShuffle) {
  // A shuffle moves a value; it does not order memory (CUDA guide, warp shuffle functions).
  EXPECT_RACE(1, 32, [] {
    ASSAY_SHARED(int, tile, 32);
    tile[threadIdx.x] = 1;
    const int other = __shfl_xor_sync(~0u, static_cast<int>(threadIdx.x), 1);
    race_out[threadIdx.x] = tile[other];
  });
}

TEST(Executor, SharedReductionIsClean) {
  // The pattern of every block reduction: twice in a row, over several blocks, with threads that exit early.
  EXPECT_NO_RACE(3, 64, [] {
    ASSAY_SHARED(int, partial, 2);
    ASSAY_SHARED(int, total, 1);
    int v = static_cast<int>(threadIdx.x);
    for (int round = 0; round < 2; ++round) {
      for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_xor_sync(~0u, v, lanes);
      if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
      __syncthreads();
      if (threadIdx.x == 0) total[0] = partial[0] + partial[1];
      __syncthreads();
      v = total[0] + static_cast<int>(threadIdx.x);
    }
    if (threadIdx.x >= 32) return;
    if (threadIdx.x == 0) atomicAdd(&race_out[0], v);
  });
}

TEST(Executor, RaceInGlobalMemoryOfBlock) {
  EXPECT_RACE(1, 33, [] {
    if (threadIdx.x % 32 == 0) race_out[5] = static_cast<int>(threadIdx.x);
  });
}
TEST(Executor, RaceInGlobalMemoryBetweenBlocks) {
  EXPECT_RACE(2, 32, [] {
    if (threadIdx.x == 0) race_out[5] = static_cast<int>(blockIdx.x);
  });
}
TEST(Executor, LaunchesAreOrdered) {
  const auto kernel = [] { race_out[(blockIdx.x + 1) * blockDim.x - 1 - threadIdx.x] += 1; };
  launch(2, 32, kernel);
  for (int& v : race_out) v += 1;
  EXPECT_NO_RACE(3, 32, [&] { race_out[blockIdx.x * blockDim.x + threadIdx.x] += 1; });
}

}  // namespace
}  // namespace assay::host_test
