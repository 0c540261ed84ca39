// SPDX-License-Identifier: Apache-2.0
// The sum of the exps is kept in f16, by each thread and by the block.
#include <cuda_fp16.h>

#include "parts.cuh"

__global__ void half_sum_kernel(const __half* in, __half* out, int rows, int V) {
  constexpr int kFew = 64;
  __shared__ float part[kFew];
  __shared__ __half sums[kFew];
  const __half* x = in + (size_t)blockIdx.x * V;
  __half* y = out + (size_t)blockIdx.x * V;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < V; i += kFew) m = fmaxf(m, __half2float(x[i]));
  part[threadIdx.x] = m;
  __syncthreads();
  for (int i = 0; i < kFew; i++) m = fmaxf(m, part[i]);
  __half sum = __float2half(0);
  for (int i = threadIdx.x; i < V; i += kFew) sum = __hadd(sum, __float2half(expf(__half2float(x[i]) - m)));
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int s = kFew / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) sums[threadIdx.x] = __hadd(sums[threadIdx.x], sums[threadIdx.x + s]);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < V; i += kFew)
    y[i] = __float2half(expf(__half2float(x[i]) - m) / __half2float(sums[0]));
}

void half_sum(const __half* in, __half* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) half_sum_kernel<<<rows, 64, 0, stream>>>(in, out, rows, V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(half_sum, half_sum)
#endif
