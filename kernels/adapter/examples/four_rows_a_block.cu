// SPDX-License-Identifier: Apache-2.0
// entry: cudaError_t softmax_four_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1, a multiple of 4; V >= 1
// declare: rows_multiple=4
// Four rows a block, without a test for the last rows. Other numbers of rows are refused.
#include <cuda_runtime.h>
#include <math.h>

__global__ void four_rows(const float* in, float* out, int cols) {
  const size_t row = (size_t)blockIdx.x * 4 + threadIdx.y;
  const float* x = in + row * cols;
  float* y = out + row * cols;
  float m = -INFINITY, d = 0;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, x[i]);
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  for (int i = threadIdx.x; i < cols; i += 32) d += expf(x[i] - m);
  for (int lane = 16; lane > 0; lane /= 2) d += __shfl_xor_sync(0xffffffffu, d, lane);
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = expf(x[i] - m) / d;
}

cudaError_t softmax_four_rows(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (rows % 4 != 0) return cudaErrorInvalidConfiguration;
  if (rows == 0) return cudaSuccess;
  four_rows<<<rows / 4, dim3(32, 4), 0, stream>>>(in, out, cols);
  return cudaGetLastError();
}
