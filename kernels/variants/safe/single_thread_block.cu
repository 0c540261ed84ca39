// SPDX-License-Identifier: Apache-2.0
// single_thread_block: safe softmax with one block of one thread a row, serially. Kernel 1 of Saman's blog
// "Fused Softmax, part 3: CUDA kernel" (f32): the maximum starts at the lowest finite float. Reads logits
// three times.
// Worst case seen: 6172 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 123957.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T>
__global__ void __launch_bounds__(1)
    single_thread_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = -0x1.fffffep+127f;
    for (std::int64_t i = 0; i < V; ++i) maximum = fmaxf(maximum, to_float(x[i]));
    float sum = 0.0f;
    for (std::int64_t i = 0; i < V; ++i) sum += expf(to_float(x[i]) - maximum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = 0; i < V; ++i) p[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    }
    if (m) {
      m[row] = sum == 0.0f ? negative_infinity() : maximum;  // only a row of -inf leaves the sum at 0
      d[row] = sum;
    }
  }
}

struct SingleThreadBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return V; },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(single_thread_block<T>, 1);
  }
};
ASSAY_REGISTER_KERNEL(SingleThreadBlock, "single_thread_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
