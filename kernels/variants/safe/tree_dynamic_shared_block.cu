// SPDX-License-Identifier: Apache-2.0
// tree_dynamic_shared_block: safe softmax, one block per row, reductions by trees in dynamic shared memory.
// Kernel 3 of Saman's blog "Fused Softmax, part 3: CUDA kernel" (f32). tree_five_access_block has the same
// trees and keeps its exps in memory; here they are computed twice. Reads logits three times.
// Worst case seen: 65.6 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 103804.
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    tree_dynamic_shared_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  ASSAY_DYNAMIC_SHARED(float, cells);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = tree_reduce<Max>(maximum, cells);
    __syncthreads();  // all threads meet; everyone has read the maximum, and cells[] may hold sums
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(to_float(x[i]) - maximum);
    sum = tree_reduce<Sum>(sum, cells);
    __syncthreads();  // all threads meet; everyone has read the sum, and cells[] may hold the next row
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct TreeDynamicSharedBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return tree_height(ceil_div(V, kThreads), kThreads); },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(tree_dynamic_shared_block<T>, kThreads, kThreads * sizeof(float));
  }
};
ASSAY_REGISTER_KERNEL(TreeDynamicSharedBlock, "tree_dynamic_shared_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
