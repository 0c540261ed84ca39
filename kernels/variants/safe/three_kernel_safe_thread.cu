// SPDX-License-Identifier: Apache-2.0
// three_kernel_safe_thread: Algorithm 2 as three kernels, one thread per row, in half arithmetic: maximum,
// then exp(x - m) stored in half and summed in fp32, then a product with the reciprocal rounded to half. The
// first kernel of B. Visser's tutorial "Writing a Softmax Kernel From Scratch", which calls it naive although
// it subtracts the maximum. 5 accesses an element. Half has no finite number below the maximum's start,
// -65504.
// Worst case seen: 9.339 ulp (f16@host), clustered_top, V = 1024, rows = 5, seed 1: row 2, column 266.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

/// The row of this thread's first turn, and how far it is to the next.
__device__ __forceinline__ std::int64_t first_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ __forceinline__ std::int64_t row_step() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

__global__ void __launch_bounds__(kThreads)
    row_maximum(Rows<const f16> logits, float* maxima, std::int64_t V) {
  for (std::int64_t row = first_row(); row < logits.count; row += row_step()) {
    const f16* x = logits.row(row);
    f16 maximum = from_float<f16>(-65504.0f);
    for (std::int64_t i = 0; i < V; ++i) maximum = __hmax(maximum, x[i]);
    maxima[row] = to_float(maximum);
  }
}

__global__ void __launch_bounds__(kThreads)
    exp_and_sum(Rows<const f16> logits, Rows<f16> probs, const float* maxima, float* reciprocals, float* m,
                float* d, std::int64_t V) {
  for (std::int64_t row = first_row(); row < logits.count; row += row_step()) {
    const f16* x = logits.row(row);
    f16* p = probs.base ? probs.row(row) : nullptr;
    const f16 maximum = from_float<f16>(maxima[row]);
    float sum = 0.0f;
    for (std::int64_t i = 0; i < V; ++i) {
      const f16 e = hexp(__hsub(x[i], maximum));
      sum += to_float(e);
      if (p) p[i] = e;
    }
    reciprocals[row] = to_float(from_float<f16>(1.0f / sum));
    if (m) {
      m[row] = sum == 0.0f ? negative_infinity() : to_float(maximum);  // only a row of -inf leaves it at 0
      d[row] = sum;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    scale_rows(Rows<f16> probs, const float* reciprocals, std::int64_t V) {
  for (std::int64_t row = first_row(); row < probs.count; row += row_step()) {
    f16* p = probs.row(row);
    const f16 reciprocal = from_float<f16>(reciprocals[row]);
    for (std::int64_t i = 0; i < V; ++i) p[i] = __hmul(p[i], reciprocal);
  }
}

struct ThreeKernelSafeThread {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::thread;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .exp = Exp::half,
      .division = Division::reciprocal,
      .internals = Internals::f16,
      // In roundings of half, u = 2^-11: V fp32 roundings, of the sum and of the division before the
      // reciprocal's own rounding, are worth no more than V / 8192 of them.
      .height = [](std::int64_t V) { return ceil_div(V, 8192); },
      .judgeable_rows_only = true,
      .loads = 3,
      .stores = 2,
      .in_place = true,
  };
  static std::size_t workspace_bytes(const Problem& p) {
    return 2 * static_cast<std::size_t>(p.rows) * sizeof(float);
  }
  static void run(const Call<f16>& call) {
    float* const maxima = static_cast<float*>(call.buffers.workspace);
    float* const reciprocals = maxima + call.problem.rows;
    const unsigned grid = call.blocks(kThreads);
    launch(row_maximum, grid, kThreads, 0, call.stream, call.logits, maxima, call.V);
    launch(exp_and_sum, grid, kThreads, 0, call.stream, call.logits, call.probs, maxima, reciprocals, call.m,
           call.d, call.V);
    if (call.probs.base) launch(scale_rows, grid, kThreads, 0, call.stream, call.probs, reciprocals, call.V);
  }
};
ASSAY_REGISTER_KERNEL(ThreeKernelSafeThread, "three_kernel_safe_thread", f16);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
