// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_stored(const __half* in, __half* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1; numerators stored as f16
// declare: numerators=output
// The exps are stored in the output as halves, and a second pass divides them. The arithmetic is in float.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void exps_in_place(const __half* in, __half* out, int cols) {
  __shared__ float part[4];
  const __half* x = in + (size_t)blockIdx.x * cols;
  __half* y = out + (size_t)blockIdx.x * cols;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 128) m = fmaxf(m, __half2float(x[i]));
  for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 128) {
    const float e = expf(__half2float(x[i]) - m);
    y[i] = __float2half(e);
    sum += e;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = (part[0] + part[1]) + (part[2] + part[3]);
  for (int i = threadIdx.x; i < cols; i += 128) y[i] = __float2half(__half2float(y[i]) / sum);
}

void softmax_stored(const __half* in, __half* out, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) exps_in_place<<<rows, 128, 0, stream>>>(in, out, cols);
}
