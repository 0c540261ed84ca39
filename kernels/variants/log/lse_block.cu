// SPDX-License-Identifier: Apache-2.0
// lse_block: m + log(d) of every row by Algorithm 3, one block per row: what a cross-entropy or an attention
// kernel keeps of a row. Reads logits once, writes one value a row.
// Worst case seen: 1.652e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 0, column 0.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads) lse_block(Rows<const T> logits, Rows<T> lse, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    // A row of nothing but -inf: (-inf) + log(0) is the -inf it should be.
    if (threadIdx.x == 0) *lse.row(row) = from_float<T>(n.m + logf(n.d));
  }
}

struct LseBlock {
  static constexpr Op op = Op::lse;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 1,
      .stores = 0,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(lse_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(LseBlock, "lse_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
