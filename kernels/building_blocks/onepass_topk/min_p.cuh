// SPDX-License-Identifier: Apache-2.0
// min_p: the elements whose exp(x - m) is at least a threshold, and their softmax. One read finds the best
// kMinPCandidates of a row (of none that has 2^32 - 1 elements or more). Where the last of them is below the threshold, they hold the set; the row's outputs
// follow from them. Elsewhere the row is read twice more: for the sum, and for the outputs.
#pragma once

#include "kernels/building_blocks/onepass_topk/kept.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// An exp of which a sum tells only whether a NaN is in the row: the set of min_p needs no sum over the row.
struct OnlyNan {
  __device__ __forceinline__ static float of(float t) { return t != t ? t : 0.0f; }
};

inline constexpr int kMinPCandidates = 64;

template <class T>
constexpr std::int64_t min_p_height(std::int64_t V) {
  return chunk_share<T>(V, kSelectThreads) + block_levels(kSelectThreads);
}

/// Sum of the exps of the elements that reach the threshold.
template <class E, class T>
__device__ __forceinline__ float sum_of_kept(const T* x, std::int64_t V, float m, float threshold) {
  float sum = 0.0f;
  walk_chunks<kSelectThreads>(x, V, static_cast<int>(threadIdx.x), [&](const auto& c) {
    for (const float xi : c.x) {
      const float e = E::of(xi - m);
      sum += e >= threshold ? e : 0.0f;
    }
  });
  return block_reduce<Sum, kSelectThreads>(sum);
}

template <class Form, class T>
__global__ void __launch_bounds__(kSelectThreads)
    min_p_rows(Rows<const T> logits, Rows<T> probs, BestOfRows<T> best, float threshold, std::int64_t V) {
  using E = typename Form::Exp;
  const int thread = static_cast<int>(threadIdx.x);
  const int candidates = static_cast<int>(V < best.count ? V : best.count);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    T* const p = probs.row(row);
    const float m = best.m[row];
    if (no_set(m, best.d[row])) {
      fill_row(p, V, quiet_nan());
      continue;
    }
    const T* const of_best = best.logits.row(row);
    const auto exp_of = [&](int slot) { return E::of(to_float(of_best[slot]) - m); };
    if (candidates == V || (candidates > 0 && !(exp_of(candidates - 1) >= threshold))) {
      const float own = thread < candidates ? exp_of(thread) : 0.0f;
      const bool reaches = thread < candidates && own >= threshold;
      const float d = block_reduce<Sum, kSelectThreads>(reaches ? own : 0.0f);
      // Candidates are in order, and so are their exps. (If the exp is not monotone in its last place, two of
      // them at the threshold may change places; either may be kept.)
      const int kept = __syncthreads_count(reaches);
      put_kept<Form>(best, row, kept, Normalizer{m, d}, p, V);
    } else {
      const T* const x = logits.row(row);
      const Form form(Normalizer{m, sum_of_kept<E>(x, V, m, threshold)});
      write_row<kSelectThreads>(x, p, V, thread, [&](auto& c) {
        const auto logit = c;
        form.template outputs<T>(c);
        for (int j = 0; j < static_cast<int>(sizeof(c.x) / sizeof(float)); ++j)
          if (!(E::of(logit.x[j] - m) >= threshold)) c.x[j] = 0.0f;
      });
    }
    __syncthreads();  // the row's outputs are there; what the reductions share is free
  }
}

/// The path as a variant, its exp and division by Form.
template <class Form>
struct MinPLadder {
  using Selection = LogitsAndSum<OnlyNan>;
  static constexpr Op op = Op::min_p;
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
  static std::size_t workspace_bytes(const Problem& p) { return kept_bytes<Selection>(p, kMinPCandidates); }
  template <class T>
  static void run(const Call<T>& c) {
    const BestOfRows<T> best = launch_selection<Selection, kMinPCandidates>(c);
    launch(min_p_rows<Form, T>, c.blocks(), kSelectThreads, 0, c.stream, c.logits, c.probs, best,
           c.problem.threshold(), c.V);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
