// SPDX-License-Identifier: Apache-2.0
// entry: int softmax_dispatched(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V one of 64, 128, 256, 512, 1024
// declare: V_in={64, 128, 256, 512, 1024}
// One template instance per supported length. Every other length is refused.
#include <cuda_runtime.h>
#include <math.h>

template <int V>
__global__ void fixed_length(const float* in, float* out) {
  __shared__ float part[2];
  const float* x = in + (size_t)blockIdx.x * V;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < V; i += 64) m = fmaxf(m, x[i]);
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
  __syncthreads();
  m = fmaxf(part[0], part[1]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < V; i += 64) sum += expf(x[i] - m);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = part[0] + part[1];
  for (int i = threadIdx.x; i < V; i += 64) out[(size_t)blockIdx.x * V + i] = expf(x[i] - m) / sum;
}

int softmax_dispatched(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  if (rows <= 0) return 0;
  switch (cols) {
    case 64:
      fixed_length<64><<<rows, 64, 0, stream>>>(in, out);
      return 0;
    case 128:
      fixed_length<128><<<rows, 64, 0, stream>>>(in, out);
      return 0;
    case 256:
      fixed_length<256><<<rows, 64, 0, stream>>>(in, out);
      return 0;
    case 512:
      fixed_length<512><<<rows, 64, 0, stream>>>(in, out);
      return 0;
    case 1024:
      fixed_length<1024><<<rows, 64, 0, stream>>>(in, out);
      return 0;
    default:
      return -1;
  }
}
