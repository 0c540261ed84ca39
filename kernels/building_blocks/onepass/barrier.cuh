// SPDX-License-Identifier: Apache-2.0
// What the blocks of a cluster have in common: each other's shared memory, the cluster's barrier, and
// mbarriers. An mbarrier is a word of shared memory that counts bytes. Copies and stores that are on their
// way say to it how many bytes have arrived. PTX ISA, "mbarrier". On the host the executor does the same.
#pragma once

#include <cstdint>

#include "kernels/building_blocks/backend.hpp"

#if !defined(__CUDACC__)
#include <atomic>
#endif

namespace assay::ASSAY_BACKEND::onepass {

#if defined(__CUDACC__)

/// Address of shared memory as PTX wants it.
using SharedAddress = std::uint32_t;

__device__ __forceinline__ SharedAddress shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
/// The same place in the shared memory of block `rank` of the cluster.
__device__ __forceinline__ SharedAddress peer_address(SharedAddress own, int rank) {
  std::uint32_t peer = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank));
#endif
  return peer;
}

/// The barrier of the cluster, in two halves. The first orders nothing but the start of mbarriers.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

struct alignas(8) Barrier {
  std::uint64_t word;

  __device__ __forceinline__ SharedAddress address() const { return shared_address(&word); }

  /// One thread, before anybody uses it. Other threads of the cluster see it after its next barrier.
  __device__ __forceinline__ void start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  /// One thread, once a phase. The phase ends when so many bytes have arrived.
  __device__ __forceinline__ void expect(int bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
#endif
  }
  /// Waits for the end of a phase. Phases are numbered from 0; `parity` is the number's last bit.
  __device__ __forceinline__ void wait(unsigned parity) const {
#if __CUDA_ARCH__ >= 900
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{\n\t.reg .pred p;\n\t"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
          "selp.u32 %0, 1, 0, p;\n\t}"
          : "=r"(done)
          : "r"(address()), "r"(parity)
          : "memory");
#endif
  }
};

/// Sends 8 bytes into the shared memory of a block of the cluster, and tells a barrier of that block.
__device__ __forceinline__ void send(SharedAddress to, std::uint64_t value, SharedAddress barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
               "l"(value), "r"(barrier)
               : "memory");
#endif
}

/// The same with 4 bytes.
__device__ __forceinline__ void send_word(SharedAddress to, std::uint32_t value, SharedAddress barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
               "r"(value), "r"(barrier)
               : "memory");
#endif
}

/// Copies `bytes`, a multiple of 16, from global to shared memory. The barrier is told when they have
/// arrived.
__device__ __forceinline__ void copy_in(void* to, const void* from, int bytes, Barrier& barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(barrier.address())
      : "memory");
#endif
}

#else

using SharedAddress = void*;
using executor::Site;

inline SharedAddress shared_address(const void* p) { return const_cast<void*>(p); }
inline SharedAddress peer_address(SharedAddress own, int rank, const Site& site = Site::current()) {
  return executor::peer_shared(own, rank, site);
}
inline void cluster_arrive(const Site& site = Site::current()) { executor::cluster_arrive(false, site); }
inline void cluster_wait(const Site& site = Site::current()) { executor::cluster_wait(site); }

struct alignas(8) Barrier {
  std::uint64_t word;

  SharedAddress address() const { return shared_address(&word); }
  void start(const Site& site = Site::current()) { executor::mbarrier_start(&word, 1, site); }
  void expect(int bytes, const Site& site = Site::current()) {
    executor::mbarrier_expect(&word, bytes, site);
  }
  void wait(unsigned parity, const Site& site = Site::current()) const {
    executor::mbarrier_wait(address(), parity, site);
  }
};

inline void send(SharedAddress to, std::uint64_t value, SharedAddress barrier,
                 const Site& site = Site::current()) {
  const auto move = [](const executor::Transfer& t) { *static_cast<std::uint64_t*>(t.to) = t.value; };
  executor::transfer({to, nullptr, value, 8, move}, barrier, site);
}
inline void send_word(SharedAddress to, std::uint32_t value, SharedAddress barrier,
                      const Site& site = Site::current()) {
  const auto move = [](const executor::Transfer& t) {
    *static_cast<std::uint32_t*>(t.to) = static_cast<std::uint32_t>(t.value);
  };
  executor::transfer({to, nullptr, value, 4, move}, barrier, site);
}
inline void copy_in(void* to, const void* from, int bytes, Barrier& barrier,
                    const Site& site = Site::current()) {
  if (bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(to) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    throw executor::Fault::misaligned("a bulk copy needs addresses and a size that are multiples of 16");
  // A loop over words and not memcpy: the accesses of a kernel are counted, and watched for races.
  const auto move = [](const executor::Transfer& t) {
    for (std::size_t i = 0; i < t.bytes / 8; ++i)
      static_cast<std::uint64_t*>(t.to)[i] = static_cast<const std::uint64_t*>(t.from)[i];
  };
  executor::transfer({to, from, 0, static_cast<std::size_t>(bytes), move}, barrier.address(), site);
}

#endif

// A launch that the GPU may start while the kernel before it in the stream still ends. Between two usual
// launches a GPU is idle for about a microsecond: the last blocks of one end, then the first of the next are
// started. Here the blocks are started as soon as there is room, and wait for that kernel's end before they
// touch memory. (CUDA: programmatic dependent launch, compute capability 9.0. It also works where a stream is
// captured into a graph.)

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
