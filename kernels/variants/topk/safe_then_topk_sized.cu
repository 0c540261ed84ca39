// SPDX-License-Identifier: Apache-2.0
// safe_then_topk_sized: the unfused pair as the online softmax paper's benchmark runs it
// (NVIDIA/online-softmax): safe softmax into fp32 probabilities, then top-k of those, both with V / 16
// threads a row, 32 to 256, __expf, lists in registers. Selecting on probabilities is its own claim. 5
// accesses an element.
// Worst case seen: 86.92 ulp (f32@host), uniform_80, V = 63, rows = 4, k = 63, seed 1: row 0, column 7.
#include "kernels/building_blocks/register_topk.cuh"
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T>
__global__ void __launch_bounds__(256)
    safe_to_probs(Rows<const T> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = sized_reduce<Max>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) sum += __expf(to_float(x[i]) - maximum);
    sum = sized_reduce<Sum>(sum);
    if (probs.base) {
      float* p = probs.row(row);
      const float inverse = __fdividef(1.0f, sum);
      for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x)
        p[i] = __expf(to_float(x[i]) - maximum) * inverse;
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeThenTopkSized {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .exp = Exp::fast,
      // 1 / d is one reciprocal instruction, 1 ulp or 3 u; with the product's u inside 5 u.
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, paper_threads(V, 16)); },
      .select = Select::probs,
      .ties = Ties::smaller_index,
      .loads = 4,
      .stores = 1,
  };
  static std::size_t workspace_bytes(const Problem& p) {
    return p.op == Op::normalizer
               ? 0
               : static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(p.V) * sizeof(float);
  }
  template <class T>
  static void run(const Call<T>& call) {
    const int threads = paper_threads(call.V, 16);
    const Rows<float> probs = call.scratch();
    launch(safe_to_probs<T>, call.blocks(), threads, 0, call.stream, call.logits, probs, call.m, call.d,
           call.V);
    if (call.problem.op != Op::normalizer)
      with_list(call.k, [&](auto K) {
        launch(topk_of_probs<K()>, call.blocks(), threads, 0, call.stream, as_const(probs),
               call.buffers.probs, call.problem.out, call.problem.out_pitch, call.buffers.indices, call.k,
               call.wide, call.V);
      });
  }
};
ASSAY_REGISTER_KERNEL(SafeThenTopkSized, "safe_then_topk_sized", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
