// SPDX-License-Identifier: Apache-2.0
// online_thread: the paper's Algorithm 3 as written, one thread per row, serially. Its sum is V - 1
// additions high, which slow ascending ramps turn into thousands of ulp: the price of no tree.
// Worst case seen: 6172 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 123957.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_thread(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; row < logits.count;
       row += step) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = 0; i < V; ++i) n = combine(n, leaf(to_float(x[i])));
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = 0; i < V; ++i) p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    }
    if (m) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineThread {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::thread;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return V; },
      // In a slow ramp of 128,256 terms an expf that is always off to one side leaves an error of 1e-3.
      .judgeable_rows_only = true,
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.thread_per_row(online_thread<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineThread, "online_thread", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
