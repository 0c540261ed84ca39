// SPDX-License-Identifier: Apache-2.0
// Softmax of what a top-k has selected: the slots of a row hold its k largest logits, in order, and get the
// probabilities of these logits alone. The first slot holds the maximum, so one read of the slots is enough
// for the sum.
#pragma once

#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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

/// Up to this many elements, a warp takes a row; more than that, a block.
inline constexpr int kSlotsOfWarp = 128;
/// Rows that the warps of a block take at a time.
inline constexpr int kSlotRows = kSelectThreads / 32;

/// The height of the sum of n selected logits.
constexpr std::int64_t slots_height(std::int64_t n) {
  return n <= kSlotsOfWarp ? ceil_div(n, 32) + 5 : block_height(n, kSelectThreads);
}

/// The calling thread's part of the sum over the n slots of a row.
template <class E, class T>
__device__ __forceinline__ float sum_of_slots(const T* x, int n, float m, int first, int step) {
  float sum = 0.0f;
  for (int slot = first; slot < n; slot += step) sum += E::of(to_float(x[slot]) - m);
  return sum;
}
/// Replaces the calling thread's slots by their probabilities.
template <class Form, class T>
__device__ __forceinline__ void put_slots(T* x, int n, const Form& form, int first, int step) {
  for (int slot = first; slot < n; slot += step) {
    Chunk<1> c = single(to_float(x[slot]));
    form.template outputs<T>(c);
    x[slot] = from_float<T>(c.x[0]);
  }
}

/// A warp a row. If n is 0, the slots keep the 0 of empty slots.
template <class Form, class T>
__global__ void __launch_bounds__(kSelectThreads) softmax_of_few_slots(Rows<T> values, int n) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * kSlotRows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kSlotRows + threadIdx.x / 32; row < values.count;
       row += warps) {
    T* const x = values.row(row);
    const float m = n > 0 ? to_float(x[0]) : 0.0f;
    const float d = warp_reduce<Sum>(sum_of_slots<typename Form::Exp>(x, n, m, lane, 32));
    // All lanes have read the maximum before a slot is replaced. The shuffles of the reduction order no
    // memory.
    __syncwarp();
    put_slots(x, n, Form(Normalizer{m, d}), lane, 32);
  }
}

/// A block a row.
template <class Form, class T>
__global__ void __launch_bounds__(kSelectThreads) softmax_of_slots(Rows<T> values, int n) {
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < values.count; row += gridDim.x) {
    T* const x = values.row(row);
    const float m = to_float(x[0]);
    // All threads meet in the reduction, so all have read the maximum before a slot is replaced.
    const float d =
        block_reduce<Sum, kSelectThreads>(sum_of_slots<typename Form::Exp>(x, n, m, thread, kSelectThreads));
    put_slots(x, n, Form(Normalizer{m, d}), thread, kSelectThreads);
  }
}

template <class Form, class T>
void launch_softmax_of_slots(const Call<T>& c) {
  const int n = static_cast<int>(std::min<std::int64_t>(c.k, c.V));
  if (n <= kSlotsOfWarp)
    launch(softmax_of_few_slots<Form, T>, c.blocks(kSlotRows), kSelectThreads, 0, c.stream, c.probs, n);
  else
    launch(softmax_of_slots<Form, T>, c.blocks(), kSelectThreads, 0, c.stream, c.probs, n);
}

/// The k largest logits by TopkLadder, then their softmax; its exp and division by Form.
template <class Form>
struct TopkSoftmaxLadder {
  using Selection = TopkLadder<LogitsOnly>;
  static constexpr Op op = Op::topk_softmax;
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
  static std::size_t workspace_bytes(const Problem& p) { return Selection::workspace_bytes(p); }
  template <class T>
  static void run(const Call<T>& c) {
    Selection::run(c);
    launch_softmax_of_slots<Form>(c);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
