// SPDX-License-Identifier: Apache-2.0
// Kernels that misuse the machine. Each fault names the call, its source line and the threads. The next
// launch of the same OS thread is not affected.
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
}  // namespace assay::host_test
