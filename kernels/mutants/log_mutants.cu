// SPDX-License-Identifier: Apache-2.0
// Faults of log-softmax and lse. With the same maximum, sum and logarithm, these can still go wrong although
// the output contains no exp.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;

enum class Fault {
  none,
  log_of_output,
  tiny_for_one,
  no_max,
  max_from_flt_min,
  log_of_one_plus,
  clamps_logs,
  rounds_lse,
  sum_skips_last,
};

template <class T>
__global__ void log_softmax(Fault f, bool lse, Rows<const T> logits, Rows<T> logs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float m = f == Fault::max_from_flt_min ? 0x1p-126f : negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) m = fmaxf(m, to_float(x[i]));
    m = f == Fault::no_max ? 0.0f : block_reduce<Max, kThreads>(m);
    float sum = 0.0f;
    const std::int64_t summed = f == Fault::sum_skips_last && V > 1 ? V - 1 : V;
    for (std::int64_t i = threadIdx.x; i < summed; i += kThreads) sum += expf(to_float(x[i]) - m);
    sum = block_reduce<Sum, kThreads>(sum);
    float log_sum = logf(sum);
    // ln(1 + rest) from a rounded 1 + rest loses a rest below 2^-24.
    if (f == Fault::log_of_one_plus) log_sum = logf(to_float(from_float<bf16>(sum)));
    if (f == Fault::rounds_lse) log_sum = to_float(from_float<T>(m + log_sum)) - m;
    T* y = logs.row(row);
    if (lse) {
      if (threadIdx.x == 0) *y = from_float<T>(m + log_sum);
      continue;
    }
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      float v = (to_float(x[i]) - m) - log_sum;
      if (f == Fault::log_of_output) v = logf(expf(to_float(x[i]) - m) / sum);
      if (f == Fault::tiny_for_one && V == 1) v = 0x1p-24f;
      if (f == Fault::clamps_logs) v = fmaxf(v, -100.0f);
      y[i] = from_float<T>(v);
    }
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect, Op op = Op::log_softmax) {
  const Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 3,
      .stores = 1,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, op, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(log_softmax<T>, grid_for(p.rows, s), kThreads, 0, s, f, p.op == Op::lse, logits_of<T>(p, b),
               values_of<T>(p, b), p.V);
      },
      expect);
}

const bool planted[] = {
    plant("R15", "log_none", Fault::none, {"normal_10", 1025, ""}),
    plant<bf16>("R15", "log_none_bf16", Fault::none, {"normal_10", 1025, ""}),
    plant("M71", "log_of_output", Fault::log_of_output, {"spike", 129, "element"}),
    plant("M72", "log_tiny_for_one", Fault::tiny_for_one, {"normal_1", 1, "range"}),
    plant("M01", "log_no_max", Fault::no_max, {"overflow", 129, "element"}),
    plant("M04", "log_max_from_flt_min", Fault::max_from_flt_min, {"far_below", 33, "element"}),
    plant("A64", "log_of_one_plus", Fault::log_of_one_plus, {"normal_10", 33, "element"}),
    plant("X37", "clamps_logs", Fault::clamps_logs, {"lane_maxima", 129, "element"}),
    plant<bf16>("A66", "rounds_lse_bf16", Fault::rounds_lse, {"normal_1", 129, "element"}),
    plant("M17", "log_sum_skips_last", Fault::sum_skips_last, {"normal_1", 129, "element"}),
    plant("X15", "lse_no_max", Fault::no_max, {"overflow", 129, "element"}, Op::lse),
    plant("M17", "lse_sum_skips_last", Fault::sum_skips_last, {"constant", 129, "element"}, Op::lse),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
