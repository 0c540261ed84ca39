// SPDX-License-Identifier: Apache-2.0
// online_recurrence_thread: Algorithm 3's recurrence without a branch, one thread per row: the maximum starts
// at the format's lowest finite number, and every element costs two exps, one of which is exp(0). The
// "online" kernel of B. Visser's tutorial "Writing a Softmax Kernel From Scratch", which counts 2 accesses an
// element: that is the claim; it reads the row twice and writes it once. online_thread rescales by ⊕, with
// one exp.
// Worst case seen: 6172 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 123957.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_recurrence_thread(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  constexpr float kLowest = DtypeOf<T>::value == Dtype::f16 ? -65504.0f : -0x1.fffffep+127f;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; row < logits.count;
       row += step) {
    const T* x = logits.row(row);
    float maximum = kLowest;
    float sum = 0.0f;
    for (std::int64_t i = 0; i < V; ++i) {
      const float xi = to_float(x[i]);
      const float higher = fmaxf(maximum, xi);
      // A finite start keeps (-inf) - (-inf) from being formed: -inf adds exp(-inf) = 0.
      sum = sum * expf(maximum - higher) + expf(xi - higher);
      maximum = higher;
    }
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

struct OnlineRecurrenceThread {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::thread;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return V; },
      // In a slow ramp of 128,256 terms an expf that is always off to one side leaves an error of 1e-3.
      .judgeable_rows_only = true,
      .loads = 1,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.thread_per_row(online_recurrence_thread<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineRecurrenceThread, "online_recurrence_thread", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
