// SPDX-License-Identifier: Apache-2.0
// log_softmax_block: log-softmax by Algorithm 2, as (x - m) - log(sum): its error does not grow with the
// distance of the row from zero. Reads logits three times.
// Worst case seen: 1.675e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 2, column 415.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    log_softmax_block(Rows<const T> logits, Rows<T> logs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(to_float(x[i]) - maximum);
    sum = block_reduce<Sum, kThreads>(sum);
    const float log_sum = logf(sum);
    T* y = logs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      y[i] = from_float<T>((to_float(x[i]) - maximum) - log_sum);
  }
}

struct LogSoftmaxBlock {
  static constexpr Op op = Op::log_softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(log_softmax_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(LogSoftmaxBlock, "log_softmax_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
