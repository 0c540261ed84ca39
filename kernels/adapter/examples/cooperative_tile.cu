// SPDX-License-Identifier: Apache-2.0
// entry: void softmax_tiles(const float* in, float* out, int nrow, int ncol, cudaStream_t stream)
// exit: 0
// within: rows >= 1; V >= 1
// A tile of 16 threads per row, with cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <math.h>

namespace cg = cooperative_groups;

__global__ void tiles(const float* in, float* out, int nrow, int ncol) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= nrow) return;
  const float* x = in + (size_t)row * ncol;
  float m = -INFINITY, sum = 0;
  for (int i = tile.thread_rank(); i < ncol; i += tile.size()) m = fmaxf(m, x[i]);
  m = cg::reduce(tile, m, cg::greater<float>());
  for (int i = tile.thread_rank(); i < ncol; i += tile.size()) sum += expf(x[i] - m);
  sum = cg::reduce(tile, sum, cg::plus<float>());
  for (int i = tile.thread_rank(); i < ncol; i += tile.size())
    out[(size_t)row * ncol + i] = expf(x[i] - m) / sum;
}

void softmax_tiles(const float* in, float* out, int nrow, int ncol, cudaStream_t stream) {
  if (nrow > 0) tiles<<<(nrow + 7) / 8, 128, 0, stream>>>(in, out, nrow, ncol);
}
