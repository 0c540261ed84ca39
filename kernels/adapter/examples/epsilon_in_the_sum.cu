// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_epsilon(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1; 1e-06 added to the sum
// declare: epsilon=1e-6
// A small number is added to the sum, so that nothing is ever divided by 0.
#include <cuda_runtime.h>
#include <math.h>

__global__ void block_rows(const float* in, float* out, int cols) {
  __shared__ float part[8];
  const float* x = in + (size_t)blockIdx.x * cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 256) m = fmaxf(m, x[i]);
  for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = part[0];
  for (int i = 1; i < 8; ++i) m = fmaxf(m, part[i]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) sum += expf(x[i] - m);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += part[i];
  for (int i = threadIdx.x; i < cols; i += 256)
    out[(size_t)blockIdx.x * cols + i] = expf(x[i] - m) / (sum + 1e-6f);
}

void softmax_epsilon(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) block_rows<<<rows, 256, 0, stream>>>(in, out, cols);
}
