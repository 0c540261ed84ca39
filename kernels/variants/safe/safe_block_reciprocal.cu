// SPDX-License-Identifier: Apache-2.0
// safe_block_reciprocal: Algorithm 2 with one division per row: outputs are multiplied by 1 / sum, rounded.
// That costs them one more rounding than a division each. Reads logits three times.
// Worst case seen: 66.24 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 42961.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    safe_block_reciprocal(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(to_float(x[i]) - maximum);
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      const float reciprocal = 1.0f / sum;
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i]) - maximum) * reciprocal);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeBlockReciprocal {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .division = Division::reciprocal,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(safe_block_reciprocal<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(SafeBlockReciprocal, "safe_block_reciprocal", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
