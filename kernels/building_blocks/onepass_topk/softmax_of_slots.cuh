// SPDX-License-Identifier: Apache-2.0
// Softmax of what a top-k has selected: the slots of a row hold its k largest logits, in order, and get the
// probabilities of these logits alone. The first slot holds the maximum, so one read of the slots is enough
// for the sum. With a temperature, the exps are of (x - m) / t.
#pragma once

#include "kernels/building_blocks/onepass_topk/ladder.cuh"
#include "kernels/building_blocks/reduce.cuh"
#include "reference/operands.hpp"

namespace assay::ASSAY_BACKEND::onepass {

// The temperature of a row, where a sampler has one. The selection does not need it: dividing by a positive
// number keeps the order of the logits. So only the exps of what was selected are taken of (x - m) / t.

/// Exps are of logit(x, m) - maximum(m), here x - m.
struct NoTemperature {
  static constexpr std::uint32_t operands = 0;
  __device__ __forceinline__ NoTemperature(const float*, std::int64_t) {}
  __device__ __forceinline__ float logit(float x, float) const { return x; }
  __device__ __forceinline__ float maximum(float m) const { return m; }
  __device__ __forceinline__ bool makes_nan() const { return false; }
};

/// (x - m) / t - 0. A row has a temperature of its own; 1 if the call has none.
struct Temperature {
  static constexpr std::uint32_t operands = operand::temperatures;
  float t;
  __device__ __forceinline__ Temperature(const float* temperatures, std::int64_t row)
      : t(temperatures ? temperatures[row] : 1.0f) {}
  __device__ __forceinline__ float logit(float x, float m) const { return (x - m) / t; }
  __device__ __forceinline__ float maximum(float) const { return 0.0f; }
  /// True of 0 and NaN: the maximum's own exp is NaN.
  __device__ __forceinline__ bool makes_nan() const { return t == 0.0f || t != t; }
};

/// The exp of a logit of the row.
template <class E, class Tempering>
__device__ __forceinline__ float exp_of(const Tempering& by, float x, float m) {
  return E::of(by.logit(x, m) - by.maximum(m));
}

/// What TopkLadder computes where only the logits are wanted: no exp, no division.
struct LogitsOnly {
  static constexpr Op op = Op::softmax;
  struct Exp {
    __device__ __forceinline__ static float of(float) { return 0.0f; }
  };
  __device__ __forceinline__ explicit LogitsOnly(Normalizer) {}
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>&) const {}
};

/// The k largest logits of every row. It is not inline: it is compiled once for each type, in
/// onepass_topk_softmax.cu, because the kernels of the selection are 0.9 MB of code.
template <class T>
void select_logits(const Call<T>& c) {
  TopkLadder<LogitsOnly>::run(c);
}
extern template void select_logits(const Call<f16>&);
extern template void select_logits(const Call<bf16>&);
extern template void select_logits(const Call<f32>&);

/// Up to this many elements, a warp takes a row; more than that, a block.
inline constexpr int kSlotsOfWarp = 128;
/// Rows that the warps of a block take at a time.
inline constexpr int kSlotRows = kSelectThreads / 32;

/// The height of the sum of n selected logits.
constexpr std::int64_t slots_height(std::int64_t n) {
  return n <= kSlotsOfWarp ? ceil_div(n, 32) + 5 : block_height(n, kSelectThreads);
}

/// The calling thread's part of the sum over the n slots of a row.
template <class E, class T, class Tempering>
__device__ __forceinline__ float sum_of_slots(const T* x, int n, float m, const Tempering& by, int first,
                                              int step) {
  float sum = 0.0f;
  for (int slot = first; slot < n; slot += step) sum += exp_of<E>(by, to_float(x[slot]), m);
  return sum;
}
/// Replaces the calling thread's slots by their probabilities.
template <class Form, class T, class Tempering>
__device__ __forceinline__ void put_slots(T* x, int n, Normalizer of, const Tempering& by, int first,
                                          int step) {
  const Form form(Normalizer{by.maximum(of.m), of.d});
  for (int slot = first; slot < n; slot += step) {
    Chunk<1> c = single(by.logit(to_float(x[slot]), of.m));
    form.template outputs<T>(c);
    x[slot] = from_float<T>(c.x[0]);
  }
}

/// A warp a row. If n is 0, the slots keep the 0 of empty slots.
template <class Form, class Tempering, class T>
__global__ void __launch_bounds__(kSelectThreads)
    softmax_of_few_slots(Rows<T> values, const float* temperatures, int n) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * kSlotRows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kSlotRows + threadIdx.x / 32; row < values.count;
       row += warps) {
    T* const x = values.row(row);
    const float m = n > 0 ? to_float(x[0]) : 0.0f;
    const Tempering by(temperatures, row);
    const float d = warp_reduce<Sum>(sum_of_slots<typename Form::Exp>(x, n, m, by, lane, 32));
    // All lanes have read the maximum before a slot is replaced. The shuffles of the reduction order no
    // memory.
    __syncwarp();
    put_slots<Form>(x, n, Normalizer{m, d}, by, lane, 32);
  }
}

/// A block a row.
template <class Form, class Tempering, class T>
__global__ void __launch_bounds__(kSelectThreads)
    softmax_of_slots(Rows<T> values, const float* temperatures, int n) {
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < values.count; row += gridDim.x) {
    T* const x = values.row(row);
    const float m = to_float(x[0]);
    const Tempering by(temperatures, row);
    // All threads meet in the reduction, so all have read the maximum before a slot is replaced.
    const float d = block_reduce<Sum, kSelectThreads>(
        sum_of_slots<typename Form::Exp>(x, n, m, by, thread, kSelectThreads));
    put_slots<Form>(x, n, Normalizer{m, d}, by, thread, kSelectThreads);
  }
}

template <class Form, class Tempering, class T>
void launch_softmax_of_slots(const Call<T>& c) {
  const int n = static_cast<int>(std::min<std::int64_t>(c.k, c.V));
  const float* const t = c.buffers.temperatures;
  if (n <= kSlotsOfWarp)
    launch(softmax_of_few_slots<Form, Tempering, T>, c.blocks(kSlotRows), kSelectThreads, 0, c.stream,
           c.probs, t, n);
  else
    launch(softmax_of_slots<Form, Tempering, T>, c.blocks(), kSelectThreads, 0, c.stream, c.probs, t, n);
}

/// The k largest logits by TopkLadder, then their softmax; its exp and division by Form.
template <class Form, class Tempering = NoTemperature>
struct TopkSoftmaxLadder {
  using Selection = TopkLadder<LogitsOnly>;
  static constexpr Op op = Op::topk_softmax;
  static constexpr Pace pace = Pace::copy;
  static constexpr int max_k = Selection::max_k;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::safe,
        .exp = Form::exp,
        .division = Form::division,
        .height = slots_height,
        .ftz = Form::ftz,
        .select = Select::logits,
        .ties = Ties::smaller_index,
        .loads = 1,
        .stores = 0,
    };
  }
  template <class T>
  static constexpr Operands operands_for() {
    return {.parts = Tempering::operands};
  }
  static std::size_t workspace_bytes(const Problem& p) { return Selection::workspace_bytes(p); }
  template <class T>
  static void run(const Call<T>& c) {
    select_logits(c);
    launch_softmax_of_slots<Form, Tempering>(c);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
