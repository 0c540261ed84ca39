// SPDX-License-Identifier: Apache-2.0
// A launch that the GPU may start while the kernel before it in the stream still ends. Between two usual
// launches a GPU is idle for about a microsecond: the last blocks of one end, then the first of the next are
// started. Here the blocks are started as soon as there is room, and wait for that kernel's end before they
// touch memory. (CUDA: programmatic dependent launch, compute capability 9.0. It also works where a stream is
// captured into a graph.)
#pragma once

#include "kernels/building_blocks/backend.hpp"
#if !defined(__CUDACC__)
#include <atomic>
#endif

namespace assay::ASSAY_BACKEND::onepass {

#if !defined(__CUDACC__)
/// On the host, for a test: threads launched by launch_overlapping, and those that called wait_for_previous.
inline std::atomic<std::int64_t> overlapping_threads{0}, waiting_threads{0};
/// On the host, for a test: the rest of the kernel before. Every thread that waits calls it.
inline void (*rest_of_previous)() = nullptr;
#endif

/// Waits until the kernel before this one has ended and everything that it wrote can be seen. Every thread of
/// a kernel that is launched by launch_overlapping calls it before it reads or writes memory.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__CUDACC__)
  if (rest_of_previous) rest_of_previous();
  waiting_threads.fetch_add(1, std::memory_order_relaxed);
#endif
}

/// When all blocks of this kernel have called it, the GPU may start blocks of the next kernel, if that is
/// launched by launch_overlapping and there is room. That kernel still waits for this one's end. Without the
/// call its blocks start when the last block of this one has ended. Worth it where few blocks do much after
/// their loads.
__device__ __forceinline__ void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if defined(__CUDACC__)
/// True if a kernel was compiled for compute capability 9.0 or later. Older code does not wait in
/// wait_for_previous. The same of all kernels of one build, so that each kind of kernel is asked once a
/// device: a program may hold code for several.
template <class Kernel>
bool waits(Kernel kernel) {
  constexpr int kDevices = 64;
  static thread_local signed char known[kDevices] = {};  // 0: not asked yet; 1: it waits; -1: it does not
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= kDevices) return false;
  if (known[device] == 0) {
    cudaFuncAttributes code{};
    known[device] = cudaFuncGetAttributes(&code, kernel) == cudaSuccess && code.ptxVersion >= 90 ? 1 : -1;
  }
  return known[device] == 1;
}
#else
template <class Kernel>
bool waits(Kernel) {
  return true;
}
#endif

/// Launches clusters of `blocks` blocks each, or blocks, if that is 1. The executor runs one kernel after the
/// other. Errors are those of cudaGetLastError.
template <class... P, class... A>
void launch_overlapping(void (*kernel)(P...), unsigned clusters, int blocks, int threads, std::size_t shared,
                        const Stream& stream, A... arguments) {
#if defined(__CUDACC__)
  ClusterConfig c = cluster_config(clusters, blocks, threads, shared, stream.handle);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1] = c.attribute;
  c.config.attrs = attributes;
  c.config.numAttrs = blocks == 1 ? 1 : 2;
  (void)cudaLaunchKernelEx(&c.config, kernel, static_cast<P>(arguments)...);
#else
  overlapping_threads += std::int64_t{clusters} * blocks * threads;
  launch_clusters(kernel, clusters, blocks, threads, shared, stream, arguments...);
#endif
}

}  // namespace assay::ASSAY_BACKEND::onepass
