// SPDX-License-Identifier: Apache-2.0
// Shared by the launchers whose fault lies between launches: a safe softmax with hooks for a cache, and
// memory that outlives a launch.
#pragma once

#include <cstdlib>

#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {

constexpr int kStateThreads = 128;

/// Memory of the backend that is never freed: what a kernel keeps between calls.
inline float* kept_floats(std::size_t count) {
#if defined(__CUDACC__)
  void* p = nullptr;
  if (cudaMalloc(&p, count * sizeof(float)) != cudaSuccess) return nullptr;
  cudaMemset(p, 0, count * sizeof(float));
  return static_cast<float*>(p);
#else
  return static_cast<float*>(std::calloc(count, sizeof(float)));
#endif
}

/// Safe softmax of rows first, first + step, ..., with the sum multiplied by `factor`.
struct Plain {
  Rows<const float> logits;
  Rows<float> probs;
  float* m;
  float* d;
  std::int64_t V;
  float factor = 1.0f;
  std::int64_t summed = -1;  // -1: all V elements
  bool backwards = false;
};

/// The largest of V logits. The whole block calls it.
__device__ inline float maximum_of(const float* x, std::int64_t V) {
  float own = negative_infinity();
  for (std::int64_t i = threadIdx.x; i < V; i += kStateThreads) own = fmaxf(own, x[i]);
  return block_reduce<Max, kStateThreads>(own);
}

__device__ inline void plain_row(const Plain& k, std::int64_t row) {
  const float* x = k.logits.row(row);
  float* p = k.probs.row(row);
  const float maximum = maximum_of(x, k.V);
  float sum = 0.0f;
  const std::int64_t n = k.summed < 0 ? k.V : k.summed;
  for (std::int64_t i = threadIdx.x; i < n; i += kStateThreads)
    sum += expf(x[k.backwards ? n - 1 - i : i] - maximum);
  sum = block_reduce<Sum, kStateThreads>(sum) * k.factor;
  for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) p[i] = expf(x[i] - maximum) / sum;
  if (k.m && threadIdx.x == 0) {
    k.m[row] = maximum;
    k.d[row] = sum;
  }
}

inline Plain plain_of(const Problem& p, const Buffers& b) {
  return {logits_of<float>(p, b), values_of<float>(p, b), b.m, b.d, p.V};
}

constexpr Claim kPlainClaim{
    .algorithm = Algorithm::safe,
    .height = [](std::int64_t V) { return block_height(V, kStateThreads); },
    .loads = 3,
    .stores = 1,
};

}  // namespace assay::ASSAY_BACKEND
