// SPDX-License-Identifier: Apache-2.0
// Faults of op topk_softmax: the softmax of the k largest logits alone, as a router has it.
#include "kernels/mutants/next_best.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128, kMostSlots = 64;

enum class Fault {
  none,
  over_the_row,
  last_slot_left_out,
  empty_slots_count,
  in_order_of_columns,
  larger_column_of_ties,
  no_maximum,
  softmax_then_rescaled,
  rounded_then_rescaled,
};

/// The probabilities of n selected logits, by one thread.
template <class T>
__device__ void softmax_of(Fault f, const T* x, std::int64_t V, const float* chosen, int n, int k, T* out) {
  const float m = f == Fault::no_maximum ? 0.0f : chosen[0];
  const bool row_first = f == Fault::softmax_then_rescaled || f == Fault::rounded_then_rescaled;
  const int summed = f == Fault::last_slot_left_out ? n - 1 : f == Fault::empty_slots_count ? k : n;
  float d = 0.0f;
  if (f == Fault::over_the_row || row_first)
    for (std::int64_t i = 0; i < V; ++i) d += expf(to_float(x[i]) - m);
  else
    for (int slot = 0; slot < summed; ++slot) d += expf(chosen[slot] - m);
  const auto of = [&](int slot) {
    const float p = expf(chosen[slot] - m) / d;
    return f == Fault::rounded_then_rescaled ? to_float(from_float<T>(p)) : p;
  };
  float again = row_first ? 0.0f : 1.0f;
  for (int slot = 0; row_first && slot < n; ++slot) again += of(slot);
  for (int slot = 0; slot < n; ++slot)
    out[slot] = from_float<T>(of(f == Fault::in_order_of_columns ? n - 1 - slot : slot) / again);
  for (int slot = n; slot < k; ++slot) out[slot] = from_float<T>(0.0f);
}

template <class T>
__global__ void softmax_of_the_largest(Fault f, Rows<const T> logits, Rows<T> values, void* indices, int k,
                                       bool wide, std::int64_t V) {
  ASSAY_SHARED(float, chosen, kMostSlots);
  const bool mirrored = f == Fault::larger_column_of_ties;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    Ranked last{0x7fffffff, -1};  // ranks before all
    for (int slot = 0; slot < k; ++slot) {
      last = next_best<kThreads>(x, V, last, mirrored);
      const bool none = last.index == kNoIndex;
      const long long column = none ? -1 : mirrored ? V - 1 - last.index : last.index;
      if (threadIdx.x == 0) {
        chosen[slot] = none ? 0.0f : to_float(x[column]);
        store_index(indices, row * values.pitch + slot, column, wide);
      }
      if (none) last = {kNoKey, kNoIndex};
    }
    // The thread that has written the slots reads them.
    if (threadIdx.x == 0) softmax_of(f, x, V, chosen, static_cast<int>(k < V ? k : V), k, values.row(row));
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t n) { return n; },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, Op::topk_softmax, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(softmax_of_the_largest<T>, grid_for(p.rows, s), kThreads, 0, s, f, logits_of<T>(p, b),
               values_of<T>(p, b), b.indices, p.k, p.index_bytes() == 8, p.V);
      },
      expect, kMostSlots);
}

const bool planted[] = {
    plant("R43", "topk_softmax_none", Fault::none, {"normal_1", 1025, ""}),
    plant<f16>("R43", "topk_softmax_none_f16", Fault::none, {"ties", 1025, ""}),
    plant("X71", "topk_softmax_over_the_row", Fault::over_the_row, {"normal_1", 129, "row_sum"}),
    plant("X72", "topk_softmax_last_slot_left_out", Fault::last_slot_left_out, {"normal_1", 129, "element"}),
    plant("X73", "topk_softmax_empty_slots_count", Fault::empty_slots_count, {"normal_1", 3, "element"}),
    plant("X74", "topk_softmax_in_order_of_columns", Fault::in_order_of_columns,
          {"normal_1", 129, "monotone"}),
    plant("X75", "topk_softmax_larger_column_of_ties", Fault::larger_column_of_ties, {"ties", 129, "order"}),
    plant("X76", "topk_softmax_no_maximum", Fault::no_maximum, {"shifted_1000", 129, "element"}),
    plant("X77", "topk_softmax_spoilt_by_a_nan_outside", Fault::softmax_then_rescaled,
          {"nan", 129, "element"}),
    plant<f16>("X78", "topk_softmax_rounded_then_rescaled", Fault::rounded_then_rescaled,
               {"normal_1", 1025, "element"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
