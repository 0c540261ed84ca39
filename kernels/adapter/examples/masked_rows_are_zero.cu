// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_zero_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1; nothing but -inf gives 0
// declare: all_neg_inf=zero
// As in attention: a row in which every key is masked gives zeros.
#include <cuda_runtime.h>
#include <math.h>

__global__ void zero_rows(const float* in, float* out, int rows, int cols) {
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
  // The maximum of a row ignores a NaN. If the row has nothing else, there is no maximum.
  bool masked = true;
  for (int i = threadIdx.x; i < cols; i += 32) masked = masked && x[i] == -INFINITY;
  masked = __all_sync(0xffffffffu, masked);
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = masked ? 0.0f : expf(x[i] - m) / sum;
}

void softmax_zero_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  zero_rows<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(in, out, rows, cols);
}
