// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_backward(float* grad_input, const float* grad_output, const float* output, int rows, int cols, cudaStream_t stream)
// exit: 0
// within: rows >= 1; V >= 1
// A backward pass: a warp takes a row, four warps are a block. dx = y dy - y sum(y dy), as autograd engines
// write it.
#include <cuda_runtime.h>

__global__ void backward_rows(float* dx, const float* dy, const float* y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  const size_t first = (size_t)row * cols;
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 32) sum += y[first + i] * dy[first + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int i = threadIdx.x; i < cols; i += 32)
    dx[first + i] = y[first + i] * dy[first + i] - y[first + i] * sum;
}

void softmax_backward(float* grad_input, const float* grad_output, const float* output, int rows, int cols,
                      cudaStream_t stream) {
  if (rows == 0) return;
  backward_rows<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(grad_input, grad_output, output, rows, cols);
}
