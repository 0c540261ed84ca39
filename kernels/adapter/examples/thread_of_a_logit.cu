// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_threads(const float* logits, float* probs, int rows, int V, cudaStream_t stream)
// exit: 4
// within: rows >= 1; V >= 1, at most 1024
// declare: max_V=1024
// One thread per logit. A row longer than a block's threads makes the launch fail, and nobody checks.
#include <cuda_runtime.h>
#include <math.h>

__device__ float over_block(float v, bool largest) {
  __shared__ float of_warp[32];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, step);
    v = largest ? fmaxf(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  v = of_warp[0];
  for (int w = 1; w < blockDim.x / 32; ++w) v = largest ? fmaxf(v, of_warp[w]) : v + of_warp[w];
  __syncthreads();
  return v;
}

__global__ void softmax_kernel(const float* logits, float* probs, int V) {
  const size_t at = static_cast<size_t>(blockIdx.x) * V + threadIdx.x;
  const bool mine = threadIdx.x < V;
  const float x = mine ? logits[at] : -INFINITY;
  const float m = over_block(x, true);
  const float e = mine ? expf(x - m) : 0.0f;
  const float d = over_block(e, false);
  if (mine) probs[at] = e / d;
}

void softmax_threads(const float* logits, float* probs, int rows, int V, cudaStream_t stream) {
  softmax_kernel<<<rows, (V + 31) / 32 * 32, 0, stream>>>(logits, probs, V);
}
