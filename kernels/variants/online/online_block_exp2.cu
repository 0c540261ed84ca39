// SPDX-License-Identifier: Apache-2.0
// online_block_exp2: Algorithm 3 with every exp as an exp2. Partial sums are rescaled by
// exp2((m_lo - m_hi) log2e); outputs use exp2(x log2e - fl(m log2e)), whose common factor the sum is given at
// the end. Reads logits twice.
// Worst case seen: 63.03 ulp (f32@host), uniform_80, V = 32000, rows = 1, seed 1: row 0, column 28225.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_block_exp2(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      n = combine<Exp2OfProduct>(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<Exp2OfProduct>, kThreads>(n);
    const float scaled = n.m * kLog2e;
    if (n.m != negative_infinity()) n.d *= exp2_shifted(n.m, scaled);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(exp2_shifted(to_float(x[i]), scaled) / n.d);
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineBlockExp2 {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .exp = Exp::exp2_fma,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(online_block_exp2<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineBlockExp2, "online_block_exp2", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
