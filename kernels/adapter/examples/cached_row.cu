// SPDX-License-Identifier: Apache-2.0
// entry: cudaError_t softmax_cached(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1, at most 8192
// declare: max_V=8192
// The row is kept in shared memory. Longer rows do not fit, and the launcher returns an error.
#include <cuda_runtime.h>
#include <math.h>

__global__ void cached_row(const float* in, float* out, int cols) {
  extern __shared__ float row[];
  __shared__ float part[8];
  const float* x = in + (size_t)blockIdx.x * cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 256) {
    row[i] = x[i];
    m = fmaxf(m, row[i]);
  }
  for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = part[0];
  for (int i = 1; i < 8; ++i) m = fmaxf(m, part[i]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) {
    row[i] = expf(row[i] - m);
    sum += row[i];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += part[i];
  for (int i = threadIdx.x; i < cols; i += 256) out[(size_t)blockIdx.x * cols + i] = row[i] / sum;
}

cudaError_t softmax_cached(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (cols > 8192) return cudaErrorInvalidValue;
  if (rows == 0) return cudaSuccess;
  cached_row<<<rows, 256, cols * sizeof(float), stream>>>(in, out, cols);
  return cudaGetLastError();
}
