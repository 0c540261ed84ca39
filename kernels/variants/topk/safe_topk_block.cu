// SPDX-License-Identifier: Apache-2.0
// safe_topk_block: safe softmax fused with top-k, one block per row: maximum, then sum and per-thread lists
// in one pass; only the k winners get a probability. Selects on logits. Reads logits twice.
// Worst case seen: 103.6 ulp (f32@host), long_tail, V = 128256, rows = 1, k = 5, seed 1: row 0, column 115822.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    safe_topk_block(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k, bool wide,
                    std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    list.clear(k);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      sum += expf(xi - maximum);
      if (values.base) list.insert(xi, i, k);
    }
    sum = block_reduce<Sum, kThreads>(sum);
    if (values.base)
      write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide,
                           [=](long long i) { return from_float<T>(expf(to_float(x[i]) - maximum) / sum); });
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeTopkBlock {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
      .stores = 0,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(safe_topk_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(SafeTopkBlock, "safe_topk_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
