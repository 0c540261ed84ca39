// An mbarrier: a word of shared memory that counts bytes. Copies and stores that are on their way say to it
// how many bytes have arrived. PTX ISA, "mbarrier".
#pragma once

#if defined(__CUDACC__)
#include <cstdint>

namespace assay::cuda::onepass {

/// Address of shared memory as PTX wants it.
__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
/// The same place in the shared memory of block `rank` of the cluster.
__device__ __forceinline__ std::uint32_t peer_address(std::uint32_t own, int rank) {
  std::uint32_t peer = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank));
#endif
  return peer;
}

struct alignas(8) Barrier {
  std::uint64_t word;

  __device__ __forceinline__ std::uint32_t address() const { return shared_address(&word); }

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
__device__ __forceinline__ void send(std::uint32_t to, std::uint64_t value, std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
               "l"(value), "r"(barrier)
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

}  // namespace assay::cuda::onepass
#endif
