// SPDX-License-Identifier: Apache-2.0
// causal_block: the softmax of causal attention scores, one block a row: z = scale x, of columns 0 to the
// diagonal, row mod V; zeros behind it. Maximum, sum, output, each from the scores again; what stands behind
// the diagonal is never read.
// Worst case seen: 66.36 ulp (f32@host), staircase, V = 1025, rows = 1025, seed 1: row 611, column 442.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    causal_block(Rows<const T> scores, float scale, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < scores.count; row += gridDim.x) {
    const T* x = scores.row(row);
    const std::int64_t own = row % V + 1;
    // Rounded on its own: the difference below must not take the product in.
    const auto logit = [&](std::int64_t i) { return __fmul_rn(scale, to_float(x[i])); };
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < own; i += kThreads) maximum = fmaxf(maximum, logit(i));
    maximum = block_reduce<Max, kThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < own; i += kThreads) sum += expf(logit(i) - maximum);
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(i < own ? expf(logit(i) - maximum) / sum : 0.0f);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct CausalBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .logits = LogitRounding::each,
      .causal = Causal::zeros,
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static constexpr Operands operands_for() {
    return {.parts = operand::scale};
  }
  template <class T>
  static void run(const Call<T>& call) {
    if (call.V == 0) return;
    launch(causal_block<T>, call.blocks(), kThreads, 0, call.stream, call.logits, call.problem.scale,
           call.probs, call.m, call.d, call.V);
  }
};
ASSAY_REGISTER_KERNEL(CausalBlock, "causal_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
