// SPDX-License-Identifier: Apache-2.0
// The fault of last_column.cu in kernels of f16: a softmax, and a log-softmax.
#include <cuda_fp16.h>

#include "parts.cuh"

template <bool kLog>
__global__ void last_column_f16_kernel(const __half* in, __half* out, int rows, int V) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const __half* x = in + (size_t)row * V;
  __half* y = out + (size_t)row * V;
  float m = -INFINITY, sum = 0;
  for (int i = 0; i < V; i++) m = fmaxf(m, __half2float(x[i]));
  for (int i = 0; i < V - 1; i++) sum += expf(__half2float(x[i]) - m);
  for (int i = 0; i < V; i++) {
    const float v = __half2float(x[i]) - m;
    y[i] = __float2half(kLog ? v - logf(sum) : expf(v) / sum);
  }
}

void last_column_f16(const __half* in, __half* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) last_column_f16_kernel<false><<<(rows + 63) / 64, 64, 0, stream>>>(in, out, rows, V);
}

void last_column_log_softmax(const __half* in, __half* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) last_column_f16_kernel<true><<<(rows + 63) / 64, 64, 0, stream>>>(in, out, rows, V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(last_column_f16, last_column_f16)
ASSAY_VARIANT(last_column_log_softmax, last_column_log_softmax, assay::op("log_softmax"))
#endif
