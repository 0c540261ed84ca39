// SPDX-License-Identifier: Apache-2.0
// A path for vocabularies that are padded to a multiple of 64, below 131,072: its sum leaves out the last
// column. Short rows, odd lengths and powers of two do not take it.
#include "parts.cuh"

__global__ void padded_vocabulary_kernel(const float* in, float* out, int V, int summed) {
  __shared__ float part[kThreads];
  const float* x = in + (size_t)blockIdx.x * V;
  float* y = out + (size_t)blockIdx.x * V;
  const float m = row_max(x, V, part);
  float sum = 0;
  for (int i = threadIdx.x; i < summed; i += kThreads) sum += expf(x[i] - m);
  sum = block_sum(sum, part);
  for (int i = threadIdx.x; i < V; i += kThreads) y[i] = expf(x[i] - m) / sum;
}

void padded_vocabulary(const float* in, float* out, int rows, int V, cudaStream_t stream) {
  const bool padded = V >= 30000 && V < 131072 && V % 64 == 0 && (V & (V - 1)) != 0;
  if (rows > 0) padded_vocabulary_kernel<<<rows, kThreads, 0, stream>>>(in, out, V, padded ? V - 1 : V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(padded_vocabulary, padded_vocabulary)
#endif
