// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_four_per_warp(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 0
// within: rows >= 1; V >= 1
// Eight lanes per row, four rows per warp. Lanes of rows past the last row exit before the others' shuffles.
#include <cuda_runtime.h>
#include <math.h>

__global__ void eight_lanes(const float* in, float* out, int rows, int cols) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (row >= rows) return;
  const float* x = in + (size_t)row * cols;
  float m = -INFINITY, sum = 0;
  for (int i = lane; i < cols; i += 8) m = fmaxf(m, x[i]);
  for (int step = 4; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step, 8));
  for (int i = lane; i < cols; i += 8) sum += expf(x[i] - m);
  for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step, 8);
  for (int i = lane; i < cols; i += 8) out[(size_t)row * cols + i] = expf(x[i] - m) / sum;
}

void softmax_four_per_warp(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) eight_lanes<<<(rows + 15) / 16, 128, 0, stream>>>(in, out, rows, cols);
}
