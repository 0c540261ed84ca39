// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "reports/sweep/rig/rig_kernels.hpp"

namespace assay::rig {
namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;  // 16 bytes each: a block has 16 KiB in flight, a full multiprocessor 128

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

constexpr int kOverlapping = 128;  // threads of a block, as in the streaming copy

__global__ void __launch_bounds__(kOverlapping)
    copy_after_waiting(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t n) {
  const std::size_t at = std::size_t{blockIdx.x} * kOverlapping + threadIdx.x;
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (at < n) __stcs(to + at, __ldcs(from + at));
}

__global__ void nothing() {}

template <class Word>
__global__ void count_differences(const Word* x, std::size_t n, const Word* tile, std::size_t tile_n,
                                  unsigned long long* count) {
  unsigned long long mine = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    mine += x[i] != tile[i % tile_n];
  if (mine) atomicAdd(count, mine);
}

template <class Word>
void count_words(cudaStream_t stream, const void* x, std::size_t bytes, const void* tile,
                 std::size_t tile_bytes, unsigned long long* count) {
  count_differences<<<2048, kThreads, 0, stream>>>(static_cast<const Word*>(x), bytes / sizeof(Word),
                                                   static_cast<const Word*>(tile), tile_bytes / sizeof(Word),
                                                   count);
}

cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }

unsigned blocks_for(std::size_t n, int a_block) {
  return static_cast<unsigned>((n + static_cast<std::size_t>(a_block) - 1) /
                               static_cast<std::size_t>(a_block));
}

}  // namespace

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

void enqueue_overlapping_copy(void* stream, void* to, const void* from, std::size_t bytes) {
  const std::size_t n = (bytes + 15) / 16;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_for(n, kOverlapping));
  config.blockDim = dim3(kOverlapping);
  config.stream = of(stream);
  config.attrs = &overlap;
  config.numAttrs = 1;
  (void)cudaLaunchKernelEx(&config, copy_after_waiting, static_cast<const uint4*>(from),
                           static_cast<uint4*>(to), n);
}

bool launches_overlap() {
  int device = 0, major = 0;
  cudaFuncAttributes code{};
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaFuncGetAttributes(&code, copy_after_waiting) == cudaSuccess && major >= 9 &&
         code.ptxVersion >= 90;
}

void enqueue_nothing(void* stream) { nothing<<<1, 1, 0, of(stream)>>>(); }

void enqueue_count_differences(void* stream, const void* x, std::size_t bytes, const void* tile,
                               std::size_t tile_bytes, unsigned long long* count) {
  if (bytes % 8 == 0 && tile_bytes % 8 == 0)
    count_words<unsigned long long>(of(stream), x, bytes, tile, tile_bytes, count);
  else
    count_words<unsigned short>(of(stream), x, bytes, tile, tile_bytes, count);
}

}  // namespace assay::rig
