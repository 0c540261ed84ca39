// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "kernels/isolation/shared/delay.hpp"

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

}  // namespace assay::isolation
