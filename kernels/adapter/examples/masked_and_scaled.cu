// SPDX-License-Identifier: Apache-2.0
// entry: void scaled_masked_softmax(const float* scores, const unsigned char* mask, float* probs, float scale, int rows, int cols, cudaStream_t stream)
// arg: mask=mask_drop
// exit: 4
// within: rows >= 1; V >= 1; nothing but -inf gives 0
// declare: all_neg_inf=zero
// As a training library has it: scores are scaled, those whose mask byte is set are left out, and a row of
// which nothing is left gives zeros. A warp a row, four rows a block.
#include <cuda_runtime.h>
#include <math.h>

__device__ float masked_score(const float* x, const unsigned char* mask, float scale, int i) {
  return mask[i] ? -INFINITY : x[i] * scale;
}

__global__ void scaled_masked(const float* scores, const unsigned char* mask, float* probs, float scale,
                              int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const size_t start = (size_t)row * cols;
  const float* x = scores + start;
  const unsigned char* masked = mask + start;
  float m = -INFINITY;
  bool nothing = true;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float z = masked_score(x, masked, scale, i);
    nothing = nothing && z == -INFINITY;
    m = fmaxf(m, z);
  }
  for (int lane = 16; lane > 0; lane /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, lane));
  nothing = __all_sync(0xffffffffu, nothing);
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(masked_score(x, masked, scale, i) - m);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  for (int i = threadIdx.x; i < cols; i += 32)
    probs[start + i] = nothing ? 0.0f : expf(masked_score(x, masked, scale, i) - m) / sum;
}

void scaled_masked_softmax(const float* scores, const unsigned char* mask, float* probs, float scale,
                           int rows, int cols, cudaStream_t stream) {
  scaled_masked<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(scores, mask, probs, scale, rows, cols);
}
