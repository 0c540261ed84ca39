// SPDX-License-Identifier: Apache-2.0
// entry: cudaError_t softmax_registers(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V a multiple of 32, at most 1024
// declare: V_multiple=32; max_V=1024
// One warp holds a row in its registers. Other lengths are refused with a status.
#include <cuda_runtime.h>
#include <math.h>

__global__ void row_in_registers(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int each = cols / 32;
  const float* x = in + (size_t)row * cols;
  float value[32];
  float m = -INFINITY;
  for (int i = 0; i < each; ++i) {
    value[i] = x[i * 32 + threadIdx.x];
    m = fmaxf(m, value[i]);
  }
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  float sum = 0;
  for (int i = 0; i < each; ++i) {
    value[i] = expf(value[i] - m);
    sum += value[i];
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  for (int i = 0; i < each; ++i) out[(size_t)row * cols + i * 32 + threadIdx.x] = value[i] / sum;
}

cudaError_t softmax_registers(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (cols % 32 != 0 || cols > 1024) return cudaErrorInvalidValue;
  if (rows == 0) return cudaSuccess;
  row_in_registers<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(in, out, rows, cols);
  return cudaGetLastError();
}
