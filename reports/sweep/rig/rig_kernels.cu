// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "reports/sweep/rig/rig_kernels.hpp"

namespace assay::rig {
namespace {

constexpr int kThreads = 256;
constexpr int kLoads = 4;  // 16 bytes each: a block has 16 KiB in flight, a full multiprocessor 128

constexpr int kOverlapping = 128;  // threads of a block, as in the streaming copy

/// `kChained`: the next kernel may start at once.
template <bool kChained>
__device__ void wait_for_the_kernel_before() {
#if __CUDA_ARCH__ >= 900
  if (kChained) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <bool kChained>
__global__ void __launch_bounds__(kOverlapping)
    copy_after_waiting(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t n) {
  const std::size_t at = std::size_t{blockIdx.x} * kOverlapping + threadIdx.x;
  wait_for_the_kernel_before<kChained>();
  if (at < n) __stcs(to + at, __ldcs(from + at));
}

__global__ void __launch_bounds__(kThreads)
    read_after_waiting(const uint4* __restrict__ from, std::size_t n, unsigned* sink) {
  const std::size_t first = std::size_t{blockIdx.x} * (kThreads * kLoads) + threadIdx.x;
  wait_for_the_kernel_before<true>();
  uint4 v[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * kThreads;
    v[i] = at < n ? __ldcs(from + at) : uint4{0, 0, 0, 0};
  }
  unsigned all = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) all ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
  // The loaded values must be used, or the compiler removes the loads.
  if (all == 0x9e3779b9u) *sink = all;
}

__global__ void nothing() {}

template <class Word>
__global__ void count_differences(const Word* x, std::size_t n, const Word* tile, std::size_t tile_n,
                                  std::size_t shift, unsigned long long* count) {
  unsigned long long mine = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    mine += x[i] != tile[(i + shift) % tile_n];
  if (mine) atomicAdd(count, mine);
}

template <class Word>
void count_words(cudaStream_t stream, const void* x, std::size_t bytes, const void* tile,
                 std::size_t tile_bytes, std::size_t shift, unsigned long long* count) {
  count_differences<<<2048, kThreads, 0, stream>>>(static_cast<const Word*>(x), bytes / sizeof(Word),
                                                   static_cast<const Word*>(tile), tile_bytes / sizeof(Word),
                                                   shift / sizeof(Word), count);
}

/// A block works on one piece, blockIdx.y.
template <class Word>
__global__ void turned(std::byte* to, std::size_t stride, std::size_t n, const Word* tile, std::size_t tile_n,
                       std::size_t first, std::size_t step) {
  const std::size_t begin = (first + blockIdx.y * step) % tile_n;
  auto* const piece = reinterpret_cast<Word*>(to + blockIdx.y * stride);
  const std::size_t stepped = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stepped)
    piece[i] = tile[(i + begin) % tile_n];
}

template <class Word>
void turn_words(cudaStream_t stream, void* to, std::size_t stride, std::int64_t sets, std::size_t bytes,
                const void* tile, std::size_t tile_bytes, std::size_t first, std::size_t step) {
  const std::size_t n = bytes / sizeof(Word);
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::size_t>((n + kThreads - 1) / kThreads, 1, sets < 16 ? 2048 : 128));
  turned<<<dim3(blocks, static_cast<unsigned>(sets)), kThreads, 0, stream>>>(
      static_cast<std::byte*>(to), stride, n, static_cast<const Word*>(tile), tile_bytes / sizeof(Word),
      first / sizeof(Word), step / sizeof(Word));
}

cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }

unsigned blocks_for(std::size_t n, int a_block) {
  return static_cast<unsigned>((n + static_cast<std::size_t>(a_block) - 1) /
                               static_cast<std::size_t>(a_block));
}

}  // namespace

namespace {

/// Launches a kernel that may start while the one before it ends.
template <class... Takes, class... Given>
void enqueue_overlapping(void* stream, unsigned blocks, int threads, void (*kernel)(Takes...),
                         Given... given) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = of(stream);
  config.attrs = &overlap;
  config.numAttrs = 1;
  (void)cudaLaunchKernelEx(&config, kernel, given...);
}

}  // namespace

void enqueue_overlapping_copy(void* stream, void* to, const void* from, std::size_t bytes, bool chained) {
  const std::size_t n = (bytes + 15) / 16;
  enqueue_overlapping(stream, blocks_for(n, kOverlapping), kOverlapping,
                      chained ? copy_after_waiting<true> : copy_after_waiting<false>,
                      static_cast<const uint4*>(from), static_cast<uint4*>(to), n);
}

void enqueue_chained_read(void* stream, const void* from, std::size_t bytes, unsigned* sink) {
  const std::size_t n = (bytes + 15) / 16;
  enqueue_overlapping(stream, blocks_for(n, kThreads * kLoads), kThreads, read_after_waiting,
                      static_cast<const uint4*>(from), n, sink);
}

bool launches_overlap() {
  int device = 0, major = 0;
  cudaFuncAttributes code{};
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaFuncGetAttributes(&code, copy_after_waiting<false>) == cudaSuccess && major >= 9 &&
         code.ptxVersion >= 90;
}

void enqueue_nothing(void* stream) { nothing<<<1, 1, 0, of(stream)>>>(); }

void enqueue_count_differences(void* stream, const void* x, std::size_t bytes, const void* tile,
                               std::size_t tile_bytes, std::size_t shift, unsigned long long* count) {
  if (bytes % 8 == 0 && tile_bytes % 8 == 0 && shift % 8 == 0)
    count_words<unsigned long long>(of(stream), x, bytes, tile, tile_bytes, shift, count);
  else
    count_words<unsigned short>(of(stream), x, bytes, tile, tile_bytes, shift, count);
}

void enqueue_turned(void* stream, void* to, std::size_t stride, std::int64_t sets, std::size_t bytes,
                    const void* tile, std::size_t tile_bytes, std::size_t row, std::size_t first,
                    std::size_t step) {
  if (row % 16 == 0)
    turn_words<uint4>(of(stream), to, stride, sets, bytes, tile, tile_bytes, first, step);
  else if (row % 4 == 0)
    turn_words<unsigned>(of(stream), to, stride, sets, bytes, tile, tile_bytes, first, step);
  else
    turn_words<unsigned short>(of(stream), to, stride, sets, bytes, tile, tile_bytes, first, step);
}

}  // namespace assay::rig
