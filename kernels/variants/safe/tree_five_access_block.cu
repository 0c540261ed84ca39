// SPDX-License-Identifier: Apache-2.0
// tree_five_access_block: safe softmax in three passes, one block per row, reductions by trees in shared
// memory: maximum; exp(x - m) written to memory and summed; read back and divided. 5 accesses an element.
// Kernel 1 of the blog "softmax with CUDA worklog, part 1" (f32). f16 keeps the exps in an fp32 workspace,
// f32 in the output.
// Worst case seen: 65.6 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 103804.
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    tree_five_access_block(Rows<const T> logits, Rows<float> exps, Rows<T> probs, float* m, float* d,
                           std::int64_t V) {
  // One array each: 9 barriers a reduction are enough, because the other's lie between two uses of one.
  ASSAY_SHARED(float, of_max, kThreads);
  ASSAY_SHARED(float, of_sum, kThreads);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float* e = probs.base ? exps.row(row) : nullptr;
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = tree_reduce<Max>(maximum, of_max);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float numerator = expf(to_float(x[i]) - maximum);
      if (e) e[i] = numerator;
      sum += numerator;
    }
    sum = tree_reduce<Sum>(sum, of_sum);
    if (e) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads) p[i] = from_float<T>(e[i] / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct TreeFiveAccessBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return tree_height(ceil_div(V, kThreads), kThreads); },
      .loads = 3,
      .stores = 2,
      .in_place = true,
  };
  static std::size_t workspace_bytes(const Problem& p) {
    return p.in == Dtype::f32 || p.op == Op::normalizer
               ? 0
               : static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(p.V) * sizeof(float);
  }
  template <class T>
  static void run(const Call<T>& call) {
    // An output of fp32 holds an exp as it is.
    Rows<float> exps = call.scratch();
    if constexpr (DtypeOf<T>::value == Dtype::f32) exps = call.probs;
    launch(tree_five_access_block<T>, call.blocks(), kThreads, 0, call.stream, call.logits, exps, call.probs,
           call.m, call.d, call.V);
  }
};
ASSAY_REGISTER_KERNEL(TreeFiveAccessBlock, "tree_five_access_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
