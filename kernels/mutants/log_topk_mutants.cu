// SPDX-License-Identifier: Apache-2.0
// Faults of op log_softmax_topk: the log-softmax of the row at its k largest logits, as a beam search has it.
#include "kernels/mutants/next_best.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128, kMostSlots = 64;

enum class Fault { none, of_the_selected, log_of_rounded, no_maximum, reversed, empty_is_sure };

/// The log-probabilities of n selected logits, by one thread.
template <class T>
__device__ void log_probabilities_of(Fault f, const T* x, std::int64_t V, const float* chosen, int n, int k,
                                     T* out) {
  const float m = f == Fault::no_maximum || n == 0 ? 0.0f : chosen[0];
  float d = 0.0f;
  if (f == Fault::of_the_selected)
    for (int slot = 0; slot < n; ++slot) d += expf(chosen[slot] - m);
  else
    for (std::int64_t i = 0; i < V; ++i) d += expf(to_float(x[i]) - m);
  const float log_d = logf(d);
  for (int slot = 0; slot < n; ++slot) {
    const float own = chosen[f == Fault::reversed ? n - 1 - slot : slot] - m;
    const float y = f == Fault::log_of_rounded ? logf(to_float(from_float<T>(expf(own) / d))) : own - log_d;
    out[slot] = from_float<T>(y);
  }
  for (int slot = n; slot < k; ++slot)
    out[slot] = from_float<T>(f == Fault::empty_is_sure ? 0.0f : negative_infinity());
}

template <class T>
__global__ void log_softmax_of_the_largest(Fault f, Rows<const T> logits, Rows<T> values, void* indices,
                                           int k, bool wide, std::int64_t V) {
  ASSAY_SHARED(float, chosen, kMostSlots);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    Ranked last{0x7fffffff, -1};  // ranks before all
    for (int slot = 0; slot < k; ++slot) {
      last = next_best<kThreads>(x, V, last);
      const bool none = last.index == kNoIndex;
      if (threadIdx.x == 0) {
        chosen[slot] = none ? 0.0f : to_float(x[last.index]);
        store_index(indices, row * values.pitch + slot, none ? -1 : last.index, wide);
      }
      if (none) last = {kNoKey, kNoIndex};
    }
    // The thread that has written the slots reads them.
    if (threadIdx.x == 0)
      log_probabilities_of(f, x, V, chosen, static_cast<int>(k < V ? k : V), k, values.row(row));
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return V; },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, Op::log_softmax_topk, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(log_softmax_of_the_largest<T>, grid_for(p.rows, s), kThreads, 0, s, f, logits_of<T>(p, b),
               values_of<T>(p, b), b.indices, p.k, p.index_bytes() == 8, p.V);
      },
      expect, kMostSlots);
}

const bool planted[] = {
    plant("R46", "log_topk_none", Fault::none, {"normal_1", 1025, ""}),
    plant<f16>("R46", "log_topk_none_f16", Fault::none, {"ties", 1025, ""}),
    plant("X93", "log_topk_of_the_selected", Fault::of_the_selected, {"normal_1", 129, "element"}),
    plant<f16>("X94", "log_topk_log_of_rounded", Fault::log_of_rounded,
               {"uniform_80", 129, "element", kMostSlots}),
    plant("X95", "log_topk_no_maximum", Fault::no_maximum, {"shifted_1000", 129, "element"}),
    plant("X96", "log_topk_reversed", Fault::reversed, {"normal_1", 129, "monotone"}),
    plant("X97", "log_topk_empty_is_sure", Fault::empty_is_sure, {"normal_1", 3, "special"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
