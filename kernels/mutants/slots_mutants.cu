// SPDX-License-Identifier: Apache-2.0
// Faults of ops that give the k largest of a row: their softmax, their log-probabilities, and both with a
// temperature.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128, kMostSlots = 64;

/// The best of a row's elements that rank after `last`. `mirrored`: of equal logits the larger column first.
/// All of the block's threads must call it.
template <class T>
__device__ Ranked next_best(const T* x, std::int64_t V, Ranked last, bool mirrored = false) {
  Ranked best = Best::neutral();
  for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
    const Ranked own{rank_key(to_float(x[i])), mirrored ? V - 1 - i : i};
    if (ranks_before(last, own)) best = Best::merge(best, own);
  }
  return block_reduce<Best, kThreads>(best);
}

// Faults of op topk_softmax: the softmax of the k largest logits alone, as a router has it.
namespace topk_softmax {

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
      last = next_best(x, V, last, mirrored);
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

}  // namespace topk_softmax

// Faults of op log_softmax_topk: the log-softmax of the row at its k largest logits, as a beam search has it.
namespace log_topk {

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
      last = next_best(x, V, last);
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

}  // namespace log_topk

// Faults of a sampler's temperature: softmax and the k largest of logits that a number of each row divides.
// Where every temperature is 1, these kernels are right.
namespace temperature {

enum class Fault { none, of_the_first_row, sum_without, value_without, product };

template <class T>
__global__ void tempered_softmax_topk(Fault f, Rows<const T> logits, const float* temperatures,
                                      Rows<T> values, void* indices, float* m_of, float* d_of, int k,
                                      bool wide, std::int64_t V) {
  ASSAY_SHARED(float, sums, kThreads);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    const float t = temperatures ? temperatures[f == Fault::of_the_first_row ? 0 : row] : 1.0f;
    const auto divided = [&](float distance) { return f == Fault::product ? distance * t : distance / t; };
    const Ranked first = next_best(x, V, {0x7fffffff, -1});
    const float m = first.index == kNoIndex ? 0.0f : to_float(x[first.index]);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float distance = to_float(x[i]) - m;
      sum += expf(f == Fault::sum_without ? distance : divided(distance));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();  // all sums are there
    float d = 0.0f;
    for (int i = 0; i < kThreads; ++i) d += sums[i];
    if (m_of && threadIdx.x == 0) {
      m_of[row] = divided(m);
      d_of[row] = d;
    }
    Ranked last{0x7fffffff, -1};  // ranks before all
    for (int slot = 0; slot < k; ++slot) {
      last = next_best(x, V, last);
      const bool none = last.index == kNoIndex;
      if (threadIdx.x == 0) {
        store_index(indices, row * values.pitch + slot, none ? -1 : last.index, wide);
        const float distance = none ? 0.0f : to_float(x[last.index]) - m;
        const float e = expf(f == Fault::value_without ? distance : divided(distance));
        values.row(row)[slot] = from_float<T>(none ? 0.0f : e / d);
      }
      if (none) last = {kNoKey, kNoIndex};
    }
    __syncthreads();  // the sums have been read
  }
}

bool plant(const char* id, const char* fault, Fault f, const char* check) {
  constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return (V + kThreads - 1) / kThreads + kThreads; },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 3,
  };
  return plant_kernel<f32>(
      id, fault, __FILE__, Op::softmax_topk, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(tempered_softmax_topk<f32>, grid_for(p.rows, s), kThreads, 0, s, f, logits_of<f32>(p, b),
               b.temperatures, values_of<f32>(p, b), b.indices, b.m, b.d, p.k, p.index_bytes() == 8, p.V);
      },
      {"normal_3", 129, check, 5, 0, "operands", "ordinary"}, kMostSlots, {.parts = operand::temperatures});
}

const bool planted[] = {
    plant("R47", "temperature_none", Fault::none, ""),
    plant("X98", "temperature_of_the_first_row", Fault::of_the_first_row, "element"),
    plant("X99", "temperature_not_in_the_sum", Fault::sum_without, "element"),
    plant("X100", "temperature_in_the_sum_alone", Fault::value_without, "element"),
    plant("X101", "temperature_multiplied", Fault::product, "element"),
};

}  // namespace temperature

}  // namespace
}  // namespace assay::ASSAY_BACKEND
