// SPDX-License-Identifier: Apache-2.0
// online_then_topk: the unfused pair the paper counts with 4 accesses an element: online softmax into fp32
// probabilities, then top-k of those (arXiv 1805.02867, section 4). Both as in its benchmark: V / 16 threads
// a row, 32 to 256, __expf, lists in registers. Selecting on probabilities is its own claim.
// Worst case seen: 86.92 ulp (f32@host), uniform_80, V = 63, rows = 4, k = 63, seed 1: row 0, column 7.
#include "kernels/building_blocks/register_topk.cuh"
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T>
__global__ void __launch_bounds__(256)
    online_to_probs(Rows<const T> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) n = combine<FastExp>(n, leaf(to_float(x[i])));
    n = sized_reduce<Combine<FastExp>>(n);
    if (probs.base) {
      float* p = probs.row(row);
      const float inverse = __fdividef(1.0f, n.d);
      for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x)
        p[i] = __expf(to_float(x[i]) - n.m) * inverse;
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineThenTopk {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .exp = Exp::fast,
      // 1 / d is one reciprocal instruction, 1 ulp or 3 u; with the product's u inside 5 u.
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, paper_threads(V, 16)); },
      .select = Select::probs,
      .ties = Ties::smaller_index,
      .loads = 3,
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
    launch(online_to_probs<T>, call.blocks(), threads, 0, call.stream, call.logits, probs, call.m, call.d,
           call.V);
    if (call.problem.op != Op::normalizer)
      with_list(call.k, [&](auto K) {
        launch(topk_of_probs<K()>, call.blocks(), threads, 0, call.stream, as_const(probs),
               call.buffers.probs, call.problem.out, call.problem.out_pitch, call.buffers.indices, call.k,
               call.wide, call.V);
      });
  }
};
ASSAY_REGISTER_KERNEL(OnlineThenTopk, "online_then_topk", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
