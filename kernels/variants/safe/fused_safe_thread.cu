// SPDX-License-Identifier: Apache-2.0
// fused_safe_thread: Algorithm 2 in one kernel, one thread per row, serially, fp32 inside: the "fused" kernel
// of B. Visser's tutorial "Writing a Softmax Kernel From Scratch". The tutorial counts 3 accesses an element,
// which is the claim; its three loops read the row three times and write it once.
// Worst case seen: 6172 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 123957.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    fused_safe_thread(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; row < logits.count;
       row += step) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = 0; i < V; ++i) maximum = fmaxf(maximum, to_float(x[i]));
    float sum = 0.0f;
    for (std::int64_t i = 0; i < V; ++i) sum += expf(to_float(x[i]) - maximum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = 0; i < V; ++i) p[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    }
    if (m) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct FusedSafeThread {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::thread;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return V; },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.thread_per_row(fused_safe_thread<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(FusedSafeThread, "fused_safe_thread", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
