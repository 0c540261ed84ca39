// SPDX-License-Identifier: Apache-2.0
// online_block_fast: online_block with the hardware's approximate exp and division (__expf, __fdividef).
// Its exp loses accuracy in proportion to |x - m|, whatever the tree does. Reads logits twice.
// Worst case seen: 125.7 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 49239.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_block_fast(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine<FastExp>(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<FastExp>, kThreads>(n);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(__fdividef(__expf(to_float(x[i]) - n.m), n.d));
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineBlockFast {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .exp = Exp::fast,
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(online_block_fast<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineBlockFast, "online_block_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
