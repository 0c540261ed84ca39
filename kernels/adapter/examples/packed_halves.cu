// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_packed(const __half* in, __half* out, int rows, int cols, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V a multiple of 8; rows start at multiples of 16 bytes
// declare: V_multiple=8; alignment=16
// Eight halves per load. The launcher checks the length, but not the address.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include <stdexcept>

__global__ void packed_halves(const __half* in, __half* out, int cols) {
  __shared__ float part[4];
  const float4* x = reinterpret_cast<const float4*>(in + (size_t)blockIdx.x * cols);
  float4* y = reinterpret_cast<float4*>(out + (size_t)blockIdx.x * cols);
  const int packs = cols / 8, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < packs; i += 128) {
    float4 pack = x[i];
    const __half* h = reinterpret_cast<const __half*>(&pack);
    for (int j = 0; j < 8; ++j) m = fmaxf(m, __half2float(h[j]));
  }
  for (int step = 16; step > 0; step /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < packs; i += 128) {
    float4 pack = x[i];
    const __half* h = reinterpret_cast<const __half*>(&pack);
    for (int j = 0; j < 8; ++j) sum += expf(__half2float(h[j]) - m);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = (part[0] + part[1]) + (part[2] + part[3]);
  for (int i = threadIdx.x; i < packs; i += 128) {
    float4 pack = x[i];
    __half* h = reinterpret_cast<__half*>(&pack);
    for (int j = 0; j < 8; ++j) h[j] = __float2half(expf(__half2float(h[j]) - m) / sum);
    y[i] = pack;
  }
}

void softmax_packed(const __half* in, __half* out, int rows, int cols, cudaStream_t stream) {
  if (cols % 8 != 0) throw std::invalid_argument("cols must be a multiple of 8");
  if (rows > 0) packed_halves<<<rows, 128, 0, stream>>>(in, out, cols);
}
