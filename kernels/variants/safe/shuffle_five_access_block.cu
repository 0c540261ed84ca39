// SPDX-License-Identifier: Apache-2.0
// shuffle_five_access_block: tree_five_access_block with its reductions by warp shuffles and a few floats of
// shared memory: 4 barriers a row, and the same 5 accesses an element. Kernel 2 of the blog "softmax with
// CUDA worklog, part 1" (f32). f16 keeps the exps in an fp32 workspace, f32 in the output.
// Worst case seen: 65.93 ulp (f32@host), normal_10, V = 50257, rows = 1, seed 1: row 0, column 10350.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    shuffle_five_access_block(Rows<const T> logits, Rows<float> exps, Rows<T> probs, float* m, float* d,
                              std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float* e = probs.base ? exps.row(row) : nullptr;
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float numerator = expf(to_float(x[i]) - maximum);
      if (e) e[i] = numerator;
      sum += numerator;
    }
    sum = block_reduce<Sum, kThreads>(sum);
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

struct ShuffleFiveAccessBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
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
    launch(shuffle_five_access_block<T>, call.blocks(), kThreads, 0, call.stream, call.logits, exps,
           call.probs, call.m, call.d, call.V);
  }
};
ASSAY_REGISTER_KERNEL(ShuffleFiveAccessBlock, "shuffle_five_access_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
