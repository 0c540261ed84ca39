// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_one_row(const float* x, float* y, size_t n, cudaStream_t stream)
// arg: rows=1
// exit: 0
// within: rows >= 1; V >= 1
// The launcher takes a single row, and is called once for each.
#include <cuda_runtime.h>
#include <math.h>

__global__ void whole_row(const float* x, float* y, size_t n) {
  __shared__ float part[128];
  float m = -INFINITY, sum = 0;
  for (size_t i = threadIdx.x; i < n; i += 128) m = fmaxf(m, x[i]);
  part[threadIdx.x] = m;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();
  for (size_t i = threadIdx.x; i < n; i += 128) sum += expf(x[i] - m);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  for (size_t i = threadIdx.x; i < n; i += 128) y[i] = expf(x[i] - m) / part[0];
}

void softmax_one_row(const float* x, float* y, size_t n, cudaStream_t stream) {
  whole_row<<<1, 128, 0, stream>>>(x, y, n);
}
