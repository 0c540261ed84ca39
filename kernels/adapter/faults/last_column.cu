// SPDX-License-Identifier: Apache-2.0
// Eight lanes per row, and an off-by-one: the sum leaves out the last column. In long rows one term of many
// is within the bound.
#include "parts.cuh"

__global__ void last_column_kernel(const float* in, float* out, int rows, int V) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (row >= rows) return;
  const float* x = in + (size_t)row * V;
  float m = -INFINITY, sum = 0;
  for (int i = lane; i < V; i += 8) m = fmaxf(m, x[i]);
  for (int step = 4; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step, 8));
  for (int i = lane; i < V - 1; i += 8) sum += expf(x[i] - m);
  for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step, 8);
  for (int i = lane; i < V; i += 8) out[(size_t)row * V + i] = expf(x[i] - m) / sum;
}

void last_column(const float* in, float* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) last_column_kernel<<<(rows + 15) / 16, 128, 0, stream>>>(in, out, rows, V);
}

#ifdef ASSAY_VARIANT
ASSAY_VARIANT(last_column, last_column)
#endif
