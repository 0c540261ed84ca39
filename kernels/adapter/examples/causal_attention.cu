// SPDX-License-Identifier: Apache-2.0
// entry: void causal_softmax(float* out, float inv_temperature, const float* inp, int N, int T, cudaStream_t stream)
// declared: causal=lower
// exit: 0
// within: rows >= 1, a multiple of V: row r has columns 0 to r mod V; V >= 1, tried up to 2048
// Attention as in a training loop: N squares of T rows. Row t of a square covers columns 0 to t. What lies
// behind the diagonal is neither read nor written. One warp per row, four warps a block.
#include <cuda_runtime.h>
#include <math.h>

__global__ void causal_rows(float* out, float inv_temperature, const float* inp, long long rows, int T) {
  const long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int diagonal = (int)(row % T);
  const float* x = inp + row * T;
  float* y = out + row * T;
  float m = -INFINITY;
  for (int i = threadIdx.x; i <= diagonal; i += 32) m = fmaxf(m, x[i]);
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  float sum = 0;
  for (int i = threadIdx.x; i <= diagonal; i += 32) sum += expf(inv_temperature * (x[i] - m));
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const float norm = 1.0f / sum;
  for (int i = threadIdx.x; i <= diagonal; i += 32) y[i] = expf(inv_temperature * (x[i] - m)) * norm;
}

void causal_softmax(float* out, float inv_temperature, const float* inp, int N, int T, cudaStream_t stream) {
  const long long rows = (long long)N * T;
  if (rows == 0) return;
  causal_rows<<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(out, inv_temperature, inp, rows, T);
}
