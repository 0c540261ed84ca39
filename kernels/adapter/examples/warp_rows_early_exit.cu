// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_warp_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 0
// within: rows >= 1; V >= 1
// One warp per row, eight rows a block. Warps past the last row exit at once.
#include <cuda_runtime.h>
#include <math.h>

__global__ void warp_rows(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* x = in + (size_t)row * cols;
  float* y = out + (size_t)row * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, x[i]);
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(x[i] - m);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = expf(x[i] - m) / sum;
}

void softmax_warp_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  const dim3 block(32, 8);
  warp_rows<<<(rows + 7) / 8, block, 0, stream>>>(in, out, rows, cols);
}
