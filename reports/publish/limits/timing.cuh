// SPDX-License-Identifier: Apache-2.0
// How the programs of this folder time launches: cold buffers in turn, launches that wait in the queue before
// the first one starts.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "reports/sweep/rig/rig_kernels.hpp"

namespace assay::limits {

inline void must(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(3);
}

inline cudaStream_t stream;
inline unsigned* flag;  // host memory that the GPU reads: it lets the stream go
inline unsigned ticket = 0;

/// Median microseconds of one launch; call(i) queues the i-th. The launches wait in the queue before the
/// first starts.
template <class F>
double median_us(F call, double guess_us) {
  const int each = std::max(1, std::min(40, static_cast<int>(400 / guess_us)));
  cudaEvent_t a, b;
  must(cudaEventCreate(&a), "event");
  must(cudaEventCreate(&b), "event");
  std::vector<float> times;
  int i = 0;
  for (int sample = 0; sample < 14; ++sample) {
    rig::enqueue_hold(stream, flag, ++ticket, 1'000'000'000);
    cudaEventRecord(a, stream);
    for (int j = 0; j < each; ++j) call(i++);
    cudaEventRecord(b, stream);
    must(cudaGetLastError(), "a launch");
    *static_cast<volatile unsigned*>(flag) = ticket;  // everything is queued
    must(cudaEventSynchronize(b), "a launch");
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);
    if (sample >= 3) times.push_back(ms * 1000 / static_cast<float>(each));
  }
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Pool {
  char* base = nullptr;
  std::size_t bytes = 0, l2 = 0;
};

/// A GPU's pool of memory, and what median_us needs. Prints the head of the records.
inline Pool pool_of_gpu(const char* kind) {
  cudaDeviceProp gpu;
  must(cudaGetDeviceProperties(&gpu, 0), "no GPU");
  int driver = 0;
  cudaDriverGetVersion(&driver);
  must(cudaStreamCreate(&stream), "stream");
  must(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped), "a flag");
  *flag = 0;
  Pool pool;
  pool.l2 = static_cast<std::size_t>(gpu.l2CacheSize);
  pool.bytes = std::min<std::size_t>(gpu.totalGlobalMem / 2, std::size_t{36} << 30);
  must(cudaMalloc(&pool.base, pool.bytes), "memory");
  std::printf("{\"kind\":\"%s\",\"gpu\":\"%s\",\"cuda_driver\":%d}\n", kind, gpu.name, driver);
  return pool;
}

}  // namespace assay::limits
