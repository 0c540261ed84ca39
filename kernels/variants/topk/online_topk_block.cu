// SPDX-License-Identifier: Apache-2.0
// online_topk_block: the paper's Algorithm 4: (m, d) and the k largest logits in a single pass, one block
// per row; only the k winners get a probability. Reads logits once.
// Worst case seen: 103.6 ulp (f32@host), long_tail, V = 128256, rows = 1, k = 5, seed 1: row 0, column 115822.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_topk_block(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k,
                      bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    list.clear(k);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      n = combine(n, leaf(xi));
      if (values.base) list.insert(xi, i, k);
    }
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (values.base)
      write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide,
                           [=](long long i) { return from_float<T>(expf(to_float(x[i]) - n.m) / n.d); });
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineTopkBlock {
  static constexpr Op op = Op::softmax_topk;
  static constexpr Pace pace = Pace::reference;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 1,
      .stores = 0,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(online_topk_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineTopkBlock, "online_topk_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
