// SPDX-License-Identifier: Apache-2.0
// safe_block_exp2: Algorithm 2 with exp(x - m) as one FMA and one exp2, the form of fused attention kernels:
// exp2(x log2e - fl(m log2e)). The rounding of m log2e cancels, because sum and outputs share it. Reads
// logits three times.
// Worst case seen: 63.03 ulp (f32@host), uniform_80, V = 32000, rows = 1, seed 1: row 0, column 28225.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    safe_block_exp2(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    const float scaled = maximum * kLog2e;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += exp2_shifted(to_float(x[i]), scaled);
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(exp2_shifted(to_float(x[i]), scaled) / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeBlockExp2 {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .exp = Exp::exp2_fma,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(safe_block_exp2<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(SafeBlockExp2, "safe_block_exp2", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
