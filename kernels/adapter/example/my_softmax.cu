// SPDX-License-Identifier: Apache-2.0
// A user's softmax. A block of 128 threads handles a row: first the maximum, then the sum, then the results.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

template <typename T>
__global__ void my_softmax_kernel(const T* in, T* out, int V) {
  __shared__ float part[128];
  const T* x = in + static_cast<size_t>(blockIdx.x) * V;
  T* y = out + static_cast<size_t>(blockIdx.x) * V;

  float m = -INFINITY;
  for (int i = threadIdx.x; i < V; i += 128) m = fmaxf(m, static_cast<float>(x[i]));
  part[threadIdx.x] = m;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  m = part[0];
  __syncthreads();

  float d = 0;
  for (int i = threadIdx.x; i < V; i += 128) d += expf(static_cast<float>(x[i]) - m);
  part[threadIdx.x] = d;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  d = part[0];
  for (int i = threadIdx.x; i < V; i += 128) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - m) / d);
}

template <typename T>
void my_softmax(const T* in, T* out, int rows, int V, cudaStream_t stream) {
  if (rows > 0) my_softmax_kernel<<<rows, 128, 0, stream>>>(in, out, V);
}
