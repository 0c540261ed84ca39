// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_sentinel(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1; logits of at most 1e+20
// declare: max_abs=1e20
// The maximum starts at -1e20: a row whose logits are all below it gets the wrong maximum.
#include <cuda_runtime.h>
#include <math.h>

__global__ void from_sentinel(const float* in, float* out, int cols) {
  __shared__ float part[64];
  const float* x = in + (size_t)blockIdx.x * cols;
  float m = -1e20f;
  for (int i = threadIdx.x; i < cols; i += 64) m = fmaxf(m, x[i]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 64) sum += expf(x[i] - m);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  sum = part[0];
  for (int i = threadIdx.x; i < cols; i += 64) out[(size_t)blockIdx.x * cols + i] = expf(x[i] - m) / sum;
}

void softmax_sentinel(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  from_sentinel<<<rows, 64, 0, stream>>>(in, out, cols);
}
