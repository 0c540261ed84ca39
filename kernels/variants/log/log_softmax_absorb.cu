// SPDX-License-Identifier: Apache-2.0
// log_softmax_absorb: log-softmax by Algorithm 3, as x - lse with lse = m + log(d) rounded to a float: one
// subtraction an element, and an error of u |lse|, however small the result. Reads logits twice.
// Worst case seen: 1.675e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 2, column 415.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    log_softmax_absorb(Rows<const T> logits, Rows<T> logs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    const float lse = n.m + logf(n.d);
    T* y = logs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) y[i] = from_float<T>(to_float(x[i]) - lse);
  }
}

struct LogSoftmaxAbsorb {
  static constexpr Op op = Op::log_softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .log_form = LogForm::absorb,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(log_softmax_absorb<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(LogSoftmaxAbsorb, "log_softmax_absorb", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
