// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_cluster(const float* in, float* out, int rows, int cols, cudaStream_t stream)
// needs: device
// exit: 0
// within: rows >= 1; V >= 1
// Four blocks share a row as a cluster: they read each other's shared memory. Hopper and later.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 256;

struct Part {
  float m, d;
};

__device__ Part merge(Part a, Part b) {
  const float m = fmaxf(a.m, b.m);
  // If a part has nothing but -inf, its sum is 0, or NaN if it has a NaN.
  const float left = a.m == -INFINITY ? a.d : a.d * expf(a.m - m);
  const float right = b.m == -INFINITY ? b.d : b.d * expf(b.m - m);
  return {m, left + right};
}

__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads)
    cluster_rows(const float* in, float* out, int rows, int cols) {
  __shared__ Part warps[kThreads / 32];
  __shared__ Part of_block;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = (int)cluster.block_rank();
  const int first = rank * kThreads + (int)threadIdx.x, step = kBlocks * kThreads;
  for (int row = (int)blockIdx.x / kBlocks; row < rows; row += (int)gridDim.x / kBlocks) {
    const float* x = in + (size_t)row * cols;
    float* y = out + (size_t)row * cols;
    float m = -INFINITY;
    bool nan = false;
    for (int i = first; i < cols; i += step) m = fmaxf(m, x[i]), nan = nan || x[i] != x[i];
    Part p{m, nan ? NAN : 0.0f};
    for (int i = first; i < cols; i += step)
      if (x[i] != -INFINITY) p.d += expf(x[i] - m);
    for (int lane = 16; lane > 0; lane /= 2)
      p = merge(p, {__shfl_xor_sync(0xffffffffu, p.m, lane), __shfl_xor_sync(0xffffffffu, p.d, lane)});
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = p;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kThreads / 32; ++w) p = merge(p, warps[w]);
      of_block = p;
    }
    cluster.sync();
    Part all = *cluster.map_shared_rank(&of_block, 0);
    for (int b = 1; b < kBlocks; ++b) all = merge(all, *cluster.map_shared_rank(&of_block, b));
    // No block writes the next row's part, or ends, before all blocks have read this one's.
    cluster.sync();
    // For a row of nothing but -inf this gives 0 / 0.
    for (int i = first; i < cols; i += step) y[i] = expf(x[i] - all.m) / all.d;
  }
}

void softmax_cluster(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  const int most = 1 << 20;
  cluster_rows<<<(rows < most ? rows : most) * kBlocks, kThreads, 0, stream>>>(in, out, rows, cols);
}
