// SPDX-License-Identifier: Apache-2.0
// A log-softmax that takes the logarithm of the probability, which is 0 far below the maximum.
#include "parts.cuh"

__global__ void log_of_probability_kernel(const float* in, float* out, int rows, int V) {
  __shared__ float part[kThreads];
  const float* x = in + (size_t)blockIdx.x * V;
  float* y = out + (size_t)blockIdx.x * V;
  const float m = row_max(x, V, part), sum = row_sum(x, V, m, part);
  for (int i = threadIdx.x; i < V; i += kThreads) y[i] = logf(expf(x[i] - m) / sum);
}

void log_of_probability(const float* in, float* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) log_of_probability_kernel<<<rows, kThreads, 0, stream>>>(in, out, rows, V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(log_of_probability, log_of_probability, assay::op("log_softmax"))
#endif
