// SPDX-License-Identifier: Apache-2.0
// Kernels that misuse the machine. Each fault names the call, its source line and the threads. The next
// launch of the same OS thread is not affected.
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "kernels/host/executor_test.hpp"

namespace assay::host_test {
namespace {

/// Kernel code marks the line after it, where the call is. "@0" and "@1" in an expected text stand for these
/// lines.
int marked[2];
void mark_next(int which, int line = __builtin_LINE()) { atomicExch(&marked[which], line + 1); }
std::string with_places(std::string text) {
  for (int i : {0, 1}) {
    const std::string name = "@" + std::to_string(i);
    const std::string place = " at executor_fault_test.cpp:" + std::to_string(marked[i]);
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name)) text.replace(at, 2, place);
  }
  return text;
}

/// A launch with a known result. It uses barriers, shuffles and both kinds of shared memory.
void expect_right_launch() {
  unsigned sum = 0;
  const std::string fault = fault_of(3, 96, 96 * sizeof(unsigned), [&] {
    ASSAY_DYNAMIC_SHARED(unsigned, tile);
    ASSAY_SHARED(unsigned, partial, 3);
    tile[95 - threadIdx.x] = threadIdx.x;
    __syncthreads();
    unsigned v = tile[threadIdx.x];
    for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_xor_sync(~0u, v, lanes);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&sum, partial[0] + partial[1] + partial[2]);
  });
  ASSERT_EQ(fault, "");
  ASSERT_EQ(sum, 3u * 95 * 96 / 2);
}

/// The kernel faults under every seed. The fault's text has all of `parts`, and nothing is left behind.
template <class Kernel>
void expect_fault(unsigned threads, const std::vector<std::string>& parts, const Kernel& kernel) {
  for (std::uint64_t seed = 0; seed < (kSlow ? 2 : 8); ++seed) {
    {
      const Seeded seeded(seed);
      const std::string fault = fault_of(2, threads, kernel);
      for (const std::string& part : parts)
        EXPECT_NE(fault.find(with_places(part)), std::string::npos)
            << "seed " << seed << ": " << fault << "\nlacks: " << with_places(part);
    }
    expect_right_launch();
  }
}

TEST(Executor, ThreadsAtTwoBarriers) {
  const auto kernel = [] {
    if (threadIdx.x < 40) {
      mark_next(0);
      __syncthreads();
    } else {
      mark_next(1);
      __syncthreads();
    }
  };
  expect_fault(64, {"divergent barrier", "wait in __syncthreads@0", "wait in __syncthreads@1"}, kernel);
  // In index order the first 40 threads already wait when thread 40 arrives at another barrier.
  const std::string fault = fault_of(1, 64, kernel);
  for (const char* part : {"threads 0-39 wait in __syncthreads@0", "threads 40 wait in __syncthreads@1",
                           "threads 41-63 are elsewhere"})
    EXPECT_NE(fault.find(with_places(part)), std::string::npos) << fault << "\nlacks: " << part;
}

TEST(Executor, BarriersOfTwoKinds) {
  expect_fault(64, {"divergent barrier", "wait in __syncthreads_count at", "wait in __syncthreads_or at"},
               [] {
                 if (threadIdx.x == 7)
                   __syncthreads_count(1);
                 else
                   __syncthreads_or(1);
               });
}

TEST(Executor, BarrierMissedByThreadInShuffle) {
  expect_fault(
      64,
      {"no thread can go on", "threads 5 wait in __shfl_sync@0", "threads 0-4,6-63 wait in __syncthreads@1"},
      [] {
        if (threadIdx.x == 5) {
          mark_next(0);
          __shfl_sync(~0u, 1, 0);
        }
        mark_next(1);
        __syncthreads();
      });
}

TEST(Executor, ShuffleReadsALaneThatHasExited) {
  expect_fault(32,
               {"a shuffle of thread 2 reads lane 3, which has exited or does not exist",
                "__shfl_down_sync@0", "threads 3 have exited"},
               [] {
                 if (threadIdx.x == 3) return;
                 mark_next(0);
                 __shfl_down_sync(~0u, 1, 1);
               });
  // Lane 16 of the last warp lies past the end of the block.
  expect_fault(40, {"a shuffle of thread 32 reads lane 16, which has exited or does not exist"},
               [] { __shfl_xor_sync(~0u, 1, 16); });
}

TEST(Executor, ExitsOfOthersDoNotExcuseALiveLane) {
  // Lane 3 has exited. Lane 4 lives and waits elsewhere.
  expect_fault(32,
               {"no thread can go on", "threads 3 have exited", "threads 4 wait in __syncthreads@0",
                "threads 0-2,5-31 wait in __ballot_sync@1"},
               [] {
                 if (threadIdx.x == 3) return;
                 if (threadIdx.x == 4) {
                   mark_next(0);
                   __syncthreads();
                   return;
                 }
                 mark_next(1);
                 __ballot_sync(~0u, 1);
               });
  // Two warps wait at different barriers, and a third has exited.
  expect_fault(96, {"divergent barrier", "threads 64-95 have exited"}, [] {
    __syncthreads();
    if (threadIdx.x >= 64) return;
    __syncthreads();
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncthreads_or(0);
  });
}

TEST(Executor, MaskThatDoesNotNameItsCaller) {
  expect_fault(32, {"a mask that does not name it", "threads 31 wait in __reduce_max_sync@0"}, [] {
    if (threadIdx.x != 31) return;
    mark_next(0);
    __reduce_max_sync(0x7fffffffu, 1u);
  });
}

TEST(Executor, ShuffleReadsOutsideItsMask) {
  expect_fault(32, {"a shuffle of thread 15 reads lane 16", "threads 0-15 wait in __shfl_down_sync@0"}, [] {
    if (threadIdx.x >= 16) return;
    mark_next(0);
    __shfl_down_sync(0xffffu, 1, 1);
  });
  expect_fault(64, {"a shuffle of thread 32 reads lane 31"}, [] {
    if (threadIdx.x == 32) __shfl_sync(1u, 1, 31);
  });
}

TEST(Executor, DifferentCollectivesOfOneMask) {
  expect_fault(32, {"lanes of one mask are in different warp collectives"}, [] {
    if (threadIdx.x % 2)
      __shfl_xor_sync(~0u, 1, 1);
    else
      __shfl_down_sync(~0u, 1, 1);
  });
  expect_fault(32, {"lanes of one mask are in different warp collectives"},
               [] { __shfl_xor_sync(~0u, 1, 1, threadIdx.x < 16 ? 32 : 16); });
  // Two masks that overlap but are not equal never complete.
  expect_fault(32, {"no thread can go on", "__syncwarp"}, [] { __syncwarp(threadIdx.x == 0 ? 3u : ~0u); });
}

TEST(Executor, ShuffleWidth) {
  for (int width : {0, 3, 64, -8})
    expect_fault(32, {"width of " + std::to_string(width) + " is not a power of two"},
                 [=] { __shfl_xor_sync(~0u, 1, 1, width); });
}

TEST(Executor, ExceptionsOfKernelCode) {
  expect_fault(64, {"exception in kernel code, thread 33: row out of range"}, [] {
    __syncthreads();
    if (threadIdx.x == 33) throw std::out_of_range("row out of range");
    __syncthreads();
  });
  expect_fault(32, {"exception in kernel code, thread 0"}, [] {
    if (threadIdx.x == 0) throw 5;
    __syncwarp();
  });
  expect_fault(32, {"a kernel launched a kernel"}, [] { launch(1, 1, [] {}); });
}

TEST(Executor, AbandonedThreadsUnwind) {
  struct Counter {
    unsigned& n;
    explicit Counter(unsigned& c) : n(c) { atomicAdd(&n, 1u); }
    ~Counter() { atomicAdd(&n, ~0u); }
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Seeded seeded(seed);
    unsigned alive = 0;
    const std::string fault = fault_of(1, 64, [&] {
      const Counter counter(alive);
      if (threadIdx.x == 9) __syncwarp();
      __syncthreads();
    });
    EXPECT_NE(fault, "");
    EXPECT_EQ(alive, 0u) << "locals of kernel code are destroyed";
  }
}

TEST(Executor, FaultNamesItsBlock) {
  const std::string fault = fault_of(dim3(4, 3), 32, [] {
    if (blockIdx.x == 2 && blockIdx.y == 1) __syncwarp(1u << (threadIdx.x ^ 1));
  });
  EXPECT_NE(fault.find("block 2,1,0"), std::string::npos) << fault;
}

}  // namespace

// Data races of CUDA kernels, found on a CPU by ThreadSanitizer. Planted races are reported, right kernels
// are not. Each kernel runs in a child process, because a report decides the exit status of its process.

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
