// SPDX-License-Identifier: Apache-2.0
// backward_block: the gradient of a softmax by its outputs alone, dx = y (dy - sum y dy). One block per row;
// each thread sums a strided slice of y dy in f32, then the block. Reads y and dy twice.
// Worst case seen: 6.678e+28 ulp (f32@host), inf_vector, V = 33, rows = 32, seed 1: row 2, column 24.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    backward_block(Rows<const T> outputs, Rows<const T> gradients, Rows<T> dx, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < outputs.count; row += gridDim.x) {
    const T* y = outputs.row(row);
    const T* dy = gradients.row(row);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += to_float(y[i]) * to_float(dy[i]);
    sum = block_reduce<Sum, kThreads>(sum);
    T* x = dx.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      x[i] = from_float<T>(to_float(y[i]) * (to_float(dy[i]) - sum));
  }
}

struct BackwardBlock {
  static constexpr Op op = Op::softmax_backward;
  static constexpr Claim claim{
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 4,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(backward_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(BackwardBlock, "backward_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
