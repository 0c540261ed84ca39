// SPDX-License-Identifier: Apache-2.0
// entry: cudaError_t softmax_cub(const float* in, float* out, int64_t rows, int64_t cols, cudaStream_t stream)
// exit: 0
// within: rows >= 1; V >= 1
// CUB's block reductions. The first thread gets the result and passes it on.
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#include <cub/cub.cuh>

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <int THREADS>
__global__ void cub_rows(const float* in, float* out, int64_t cols) {
  using Reduce = cub::BlockReduce<float, THREADS>;
  __shared__ typename Reduce::TempStorage room;
  __shared__ float shared_m, shared_sum;
  const float* x = in + (int64_t)blockIdx.x * cols;
  float m = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < cols; i += THREADS) m = fmaxf(m, x[i]);
  m = Reduce(room).Reduce(m, Larger());
  if (threadIdx.x == 0) shared_m = m;
  __syncthreads();
  m = shared_m;
  for (int64_t i = threadIdx.x; i < cols; i += THREADS) sum += expf(x[i] - m);
  sum = Reduce(room).Sum(sum);
  if (threadIdx.x == 0) shared_sum = sum;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < cols; i += THREADS)
    out[(int64_t)blockIdx.x * cols + i] = expf(x[i] - m) / shared_sum;
}

cudaError_t softmax_cub(const float* in, float* out, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  cub_rows<128><<<(unsigned)rows, 128, 0, stream>>>(in, out, cols);
  return cudaGetLastError();
}
