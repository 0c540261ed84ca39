// SPDX-License-Identifier: Apache-2.0
// min_p: the elements whose exp(x - m) is at least a threshold, and their softmax. One read finds the best
// kMinPCandidates of a row (of none that has 2^32 - 1 elements or more). Where the last of them is below the
// threshold, they hold the set; the row's outputs follow from them. Elsewhere the row is read twice more: for
// the sum, and for the outputs.
#pragma once

#include "kernels/building_blocks/onepass_topk/kept.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// An exp of which a sum tells only whether a NaN is in the row: the set of min_p needs no sum over the row.
struct OnlyNan {
  __device__ __forceinline__ static float of(float t) { return t != t ? t : 0.0f; }
};

inline constexpr int kMinPCandidates = 64;

/// The selection without exps is compiled once for each type, in onepass_min_p.cu.
extern template BestOfRows<f16> launch_selection<LogitsAndSum<OnlyNan>, kMinPCandidates>(const Call<f16>&);
extern template BestOfRows<bf16> launch_selection<LogitsAndSum<OnlyNan>, kMinPCandidates>(const Call<bf16>&);
extern template BestOfRows<f32> launch_selection<LogitsAndSum<OnlyNan>, kMinPCandidates>(const Call<f32>&);

template <class T>
constexpr std::int64_t min_p_height(std::int64_t V) {
  return chunk_share<T>(V, kSelectThreads) + block_levels(kSelectThreads);
}

/// Sum of the exps of the elements that reach the threshold.
template <class E, class T, class Tempering>
__device__ __forceinline__ float sum_of_kept(const T* x, std::int64_t V, float m, const Tempering& by,
                                             float threshold) {
  float sum = 0.0f;
  walk_chunks<kSelectThreads>(x, V, static_cast<int>(threadIdx.x), [&](const auto& c) {
    for (const float xi : c.x) {
      const float e = exp_of<E>(by, xi, m);
      sum += e >= threshold ? e : 0.0f;
    }
  });
  return block_reduce<Sum, kSelectThreads>(sum);
}

template <class Form, class Tempering, class T>
__global__ void __launch_bounds__(kSelectThreads)
    min_p_rows(Rows<const T> logits, const float* temperatures, Rows<T> probs, BestOfRows<T> best,
               float threshold, std::int64_t V) {
  using E = typename Form::Exp;
  const int thread = static_cast<int>(threadIdx.x);
  const int candidates = static_cast<int>(V < best.count ? V : best.count);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    T* const p = probs.row(row);
    const float m = best.m[row];
    const Tempering by(temperatures, row);
    if (no_set(m, best.d[row]) || by.makes_nan()) {
      fill_row(p, V, quiet_nan());
      continue;
    }
    const T* const of_best = best.logits.row(row);
    const auto of_slot = [&](int slot) { return exp_of<E>(by, to_float(of_best[slot]), m); };
    if (candidates == V || (candidates > 0 && !(of_slot(candidates - 1) >= threshold))) {
      const float own = thread < candidates ? of_slot(thread) : 0.0f;
      const bool reaches = thread < candidates && own >= threshold;
      const float d = block_reduce<Sum, kSelectThreads>(reaches ? own : 0.0f);
      // Candidates are in order, and so are their exps. (If the exp is not monotone in its last place, two of
      // them at the threshold may change places; either may be kept.)
      const int kept = __syncthreads_count(reaches);
      put_kept<Form>(best, row, kept, Normalizer{m, d}, by, p, V);
    } else {
      const T* const x = logits.row(row);
      const Form form(Normalizer{by.maximum(m), sum_of_kept<E>(x, V, m, by, threshold)});
      write_row<kSelectThreads>(x, p, V, thread, [&](auto& c) {
        for (float& xi : c.x) xi = by.logit(xi, m);
        const auto logit = c;
        form.template outputs<T>(c);
        for (int j = 0; j < static_cast<int>(sizeof(c.x) / sizeof(float)); ++j)
          if (!(E::of(logit.x[j] - by.maximum(m)) >= threshold)) c.x[j] = 0.0f;
      });
    }
    __syncthreads();  // the row's outputs are there; what the reductions share is free
  }
}

/// The path as a variant, its exp and division by Form.
template <class Form, class Tempering = NoTemperature>
struct MinPLadder {
  using Selection = LogitsAndSum<OnlyNan>;
  static constexpr Op op = Op::min_p;
  static constexpr Pace pace = Pace::copy;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::safe,
        .exp = Form::exp,
        .division = Form::division,
        .height = min_p_height<T>,
        .ftz = Form::ftz,
        .ties = Ties::smaller_index,
        .loads = 1,
        .stores = 1,
    };
  }
  template <class T>
  static constexpr Operands operands_for() {
    return {.parts = Tempering::operands};
  }
  static std::size_t workspace_bytes(const Problem& p) { return kept_bytes<Selection>(p, kMinPCandidates); }
  template <class T>
  static void run(const Call<T>& c) {
    const BestOfRows<T> best = launch_selection<Selection, kMinPCandidates>(c);
    launch(min_p_rows<Form, Tempering, T>, c.blocks(), kSelectThreads, 0, c.stream, c.logits,
           c.buffers.temperatures, c.probs, best, c.problem.threshold, c.V);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
