// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::isolation {
namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__global__ void wait(unsigned long long ns) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < ns) __nanosleep(1000);
}

}  // namespace

void enqueue_delay(void* stream, double microseconds) {
  wait<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<unsigned long long>(microseconds * 1000));
}

namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;  // 16 bytes each: a block has 16 KiB in flight, a full multiprocessor 128

__global__ void hold(const volatile unsigned* flag, unsigned ticket, unsigned long long most_ns) {
  const unsigned long long start = nanoseconds();
  while (*flag != ticket && nanoseconds() - start < most_ns) __nanosleep(200);
}

__global__ void __launch_bounds__(kThreads)
    read_all(const uint4* __restrict__ from, std::size_t n, unsigned* sink) {
  const std::size_t first = std::size_t{blockIdx.x} * (kThreads * kLoads) + threadIdx.x;
  uint4 v[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * kThreads;
    v[i] = at < n ? __ldg(from + at) : uint4{0, 0, 0, 0};
  }
  unsigned all = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) all ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
  // The loaded values must be used, or the compiler removes the loads.
  if (all == 0x9e3779b9u) *sink = all;
}

template <int kBlock, int kEach, bool kStreaming>
__global__ void __launch_bounds__(kBlock)
    copy_all(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t n) {
  const std::size_t first = std::size_t{blockIdx.x} * (kBlock * kEach) + threadIdx.x;
  uint4 v[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * kBlock;
    if (at < n) v[i] = kStreaming ? __ldcs(from + at) : from[at];
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * kBlock;
    if (at >= n) continue;
    if (kStreaming)
      __stcs(to + at, v[i]);
    else
      to[at] = v[i];
  }
}

cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }

unsigned blocks_for(std::size_t n, int a_block) {
  return static_cast<unsigned>((n + static_cast<std::size_t>(a_block) - 1) /
                               static_cast<std::size_t>(a_block));
}

}  // namespace

void enqueue_hold(void* stream, const unsigned* flag, unsigned ticket, std::uint64_t most_ns) {
  hold<<<1, 1, 0, of(stream)>>>(flag, ticket, most_ns);
}

void enqueue_read(void* stream, const void* from, std::size_t bytes, unsigned* sink) {
  const std::size_t n = (bytes + 15) / 16;
  read_all<<<blocks_for(n, kThreads * kLoads), kThreads, 0, of(stream)>>>(static_cast<const uint4*>(from), n,
                                                                          sink);
}

void enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes, bool streaming) {
  const std::size_t n = (bytes + 15) / 16;
  const auto* const in = static_cast<const uint4*>(from);
  auto* const out = static_cast<uint4*>(to);
  if (streaming)
    copy_all<128, 1, true><<<blocks_for(n, 128), 128, 0, of(stream)>>>(in, out, n);
  else
    copy_all<kThreads, kLoads, false>
        <<<blocks_for(n, kThreads * kLoads), kThreads, 0, of(stream)>>>(in, out, n);
}

}  // namespace assay::isolation
