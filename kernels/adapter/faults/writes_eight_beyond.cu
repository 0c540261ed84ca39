// SPDX-License-Identifier: Apache-2.0
// Stores eight halves at once, even the last eight: it writes up to seven elements past the end of the row.
// Rows are promised to start at multiples of 16 bytes. One row of any length does, and shows the fault.
#include <cuda_fp16.h>

#include "parts.cuh"

__global__ void writes_eight_beyond_kernel(const __half* in, __half* out, int rows, int V) {
  __shared__ float part[kThreads];
  const __half* x = in + (size_t)blockIdx.x * V;
  __half* y = out + (size_t)blockIdx.x * V;
  float m = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < V; i += kThreads) m = fmaxf(m, __half2float(x[i]));
  m = block_max(m, part);
  for (int i = threadIdx.x; i < V; i += kThreads) sum += expf(__half2float(x[i]) - m);
  sum = block_sum(sum, part);
  for (int i = 8 * threadIdx.x; i < V; i += 8 * kThreads) {
    union {
      float4 all;
      __half each[8];
    } pack;
    for (int j = 0; j < 8; ++j)
      pack.each[j] = __float2half_rn(i + j < V ? expf(__half2float(x[i + j]) - m) / sum : 0);
    *reinterpret_cast<float4*>(y + i) = pack.all;
  }
}

void writes_eight_beyond(const __half* in, __half* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) writes_eight_beyond_kernel<<<rows, kThreads, 0, stream>>>(in, out, rows, V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(writes_eight_beyond, writes_eight_beyond, assay::declare("alignment=16"))
#endif
