// SPDX-License-Identifier: Apache-2.0
// safe_then_topk: the unfused pair the paper compares against: safe softmax into a workspace of fp32
// probabilities, then top-k of those. Selecting on probabilities is its own claim: logits closer than the
// softmax's error may come out in either order. 5 accesses per element.
// Worst case seen: 58.51 ulp (f32@host), uniform_80, V = 32, rows = 4, k = 32, seed 1: row 1, column 17.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kSoftmaxThreads = 256;
constexpr int kTopkThreads = 64;

template <class T>
__global__ void __launch_bounds__(kSoftmaxThreads)
    safe_to_workspace(Rows<const T> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kSoftmaxThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kSoftmaxThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kSoftmaxThreads) sum += expf(to_float(x[i]) - maximum);
    sum = block_reduce<Sum, kSoftmaxThreads>(sum);
    if (probs.base) {
      float* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kSoftmaxThreads)
        p[i] = expf(to_float(x[i]) - maximum) / sum;
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kTopkThreads)
    topk_of_probs(Rows<const float> probs, Rows<T> values, void* indices, int k, bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < probs.count; row += gridDim.x) {
    const float* p = probs.row(row);
    list.clear(k);
    for (std::int64_t i = threadIdx.x; i < V; i += kTopkThreads) list.insert(p[i], i, k);
    write_best<kTopkThreads>(list, k, values.row(row), indices, row * values.pitch, wide,
                             [p](long long i) { return from_float<T>(p[i]); });
  }
}

struct SafeThenTopk {
  static constexpr Op op = Op::softmax_topk;
  static constexpr Pace pace = Pace::reference;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kSoftmaxThreads); },
      .select = Select::probs,
      .ties = Ties::smaller_index,
      .loads = 4,
      .stores = 1,
  };
  static std::size_t workspace_bytes(const Problem& p) {
    return p.op == Op::normalizer ? 0 : static_cast<std::size_t>(p.rows * p.V) * sizeof(float);
  }
  template <class T>
  static void run(const Call<T>& call) {
    const Rows<float> probs = call.scratch();
    launch(safe_to_workspace<T>, call.blocks(), kSoftmaxThreads, 0, call.stream, call.logits, probs, call.m,
           call.d, call.V);
    if (call.problem.op != Op::normalizer)
      launch(topk_of_probs<T>, call.blocks(), kTopkThreads, 0, call.stream, as_const(probs), call.probs,
             call.buffers.indices, call.k, call.wide, call.V);
  }
};
ASSAY_REGISTER_KERNEL(SafeThenTopk, "safe_then_topk", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
