// SPDX-License-Identifier: Apache-2.0
// Faults of op min_p and op top_p. The kernel decides every element by itself: by its exp, or by the sum of
// what ranks before it.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;

enum class Fault {
  none,
  absolute_threshold,
  exclusive,
  sum_of_the_row,
  logarithm_to_base_2,
  maximum_of_the_row_before,
  dropped_are_tiny,
  rounded_probabilities,
  ends_before,
  one_too_many,
  larger_column_of_ties,
  keeps_all_ties,
  adds_in_bf16,
  order_of_columns,
  sixteen_candidates,
};

__device__ float bf16_of(float x) { return to_float(from_float<bf16>(x)); }

/// What ranks before element i: its sum, and its number.
struct Before {
  float sum;
  int count;
};
template <class T>
__device__ Before before(Fault f, const T* x, std::int64_t V, std::int64_t i, float m) {
  Before b{0.0f, 0};
  const int own = rank_key(to_float(x[i]));
  for (std::int64_t j = 0; j < V; ++j) {
    const int key = rank_key(to_float(x[j]));
    const bool tie_first = f == Fault::keeps_all_ties          ? false
                           : f == Fault::larger_column_of_ties ? j > i
                                                               : j < i;
    const bool first = f == Fault::order_of_columns ? j < i : key > own || (key == own && tie_first);
    if (!first) continue;
    b.sum += expf(to_float(x[j]) - m);
    if (f == Fault::adds_in_bf16) b.sum = bf16_of(b.sum);
    ++b.count;
  }
  return b;
}

template <class T>
__device__ bool is_kept(Fault f, bool nucleus, const T* x, std::int64_t V, std::int64_t i, float m, float d,
                        float threshold) {
  const float t = to_float(x[i]) - m, e = expf(t);
  if (!nucleus) {
    if (f == Fault::absolute_threshold) return e / d >= threshold;
    if (f == Fault::exclusive) return e > threshold;
    if (f == Fault::logarithm_to_base_2) return t >= logf(threshold) * 1.44269504f;
    if (f == Fault::rounded_probabilities) return bf16_of(e / d) >= bf16_of(1.0f / d) * threshold;
    return e >= threshold;
  }
  const Before b = before(f, x, V, i, m);
  if (f == Fault::ends_before) return b.count == 0 || b.sum + e < threshold * d;
  if (f == Fault::sixteen_candidates && b.count >= 16) return false;
  if (f == Fault::one_too_many) return b.count <= 1 || b.sum < threshold * d * 1.02f;
  return b.sum < threshold * d;
}

template <class T>
__global__ void keep_a_set(Fault f, bool nucleus, Rows<const T> logits, Rows<T> probs, float threshold,
                           std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    float m = negative_infinity(), d = 0.0f, kept = 0.0f, stale = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      m = fmaxf(m, to_float(x[i]));
      if (row > 0) stale = fmaxf(stale, to_float(logits.row(row - 1)[i]));
    }
    m = block_reduce<Max, kThreads>(m);
    stale = block_reduce<Max, kThreads>(stale);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) d += expf(to_float(x[i]) - m);
    d = block_reduce<Sum, kThreads>(d);
    // A NaN in the sum: no element is kept, and the sum of the kept is NaN.
    const float of = f == Fault::maximum_of_the_row_before && row > 0 ? stale : m;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      if (d != d || is_kept(f, nucleus, x, V, i, of, d, threshold))
        kept += d != d ? d : expf(to_float(x[i]) - m);
    kept = block_reduce<Sum, kThreads>(kept);
    const float by = f == Fault::sum_of_the_row ? d : kept;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const bool own = d != d || is_kept(f, nucleus, x, V, i, of, d, threshold);
      const float dropped = f == Fault::dropped_are_tiny ? 1e-30f : 0.0f;
      probs.row(row)[i] = from_float<T>(own ? expf(to_float(x[i]) - m) / by : dropped);
    }
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Op op, Fault f, const Expect& expect) {
  constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return V; },
      .ties = Ties::smaller_index,
      .loads = 5,
      .stores = 1,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, op, claim,
      [f, op](const Problem& p, const Buffers& b, const Stream& s) {
        launch(keep_a_set<T>, grid_for(p.rows, s), kThreads, 0, s, f, op == Op::top_p, logits_of<T>(p, b),
               values_of<T>(p, b), p.threshold, p.V);
      },
      expect);
}

constexpr Pick kTwentieth = of_threshold(0.05), kNineTenths = of_threshold(0.9), kHalf = of_threshold(0.5);

const bool planted[] = {
    plant("R44", "min_p_none", Op::min_p, Fault::none, {"normal_1", 129, "", kTwentieth}),
    plant<f16>("R44", "min_p_none_f16", Op::min_p, Fault::none, {"normal_1", 129, "", kTwentieth}),
    plant("X79", "min_p_absolute_threshold", Op::min_p, Fault::absolute_threshold,
          {"normal_1", 129, "kept", kTwentieth}),
    plant("X80", "min_p_exclusive", Op::min_p, Fault::exclusive, {"normal_1", 129, "kept", of_threshold(1)}),
    plant("X81", "min_p_sum_of_the_row", Op::min_p, Fault::sum_of_the_row,
          {"normal_1", 129, "row_sum", kTwentieth}),
    plant("X82", "min_p_logarithm_to_base_2", Op::min_p, Fault::logarithm_to_base_2,
          {"normal_1", 129, "kept", kTwentieth}),
    plant("X83", "min_p_maximum_of_the_row_before", Op::min_p, Fault::maximum_of_the_row_before,
          {"normal_10", 129, "kept", kTwentieth}),
    plant("X84", "min_p_dropped_are_tiny", Op::min_p, Fault::dropped_are_tiny,
          {"normal_1", 129, "kept", kTwentieth}),
    plant("X85", "min_p_rounded_probabilities", Op::min_p, Fault::rounded_probabilities,
          {"normal_1", 4099, "kept", kTwentieth}),
    plant("R45", "top_p_none", Op::top_p, Fault::none, {"normal_1", 129, "", kNineTenths}),
    plant<f16>("R45", "top_p_none_f16", Op::top_p, Fault::none, {"ties", 129, "", kHalf}),
    plant("X81", "top_p_sum_of_the_row", Op::top_p, Fault::sum_of_the_row,
          {"normal_1", 129, "row_sum", kNineTenths}),
    plant("X86", "top_p_ends_before", Op::top_p, Fault::ends_before, {"normal_1", 129, "kept", kNineTenths}),
    plant("X87", "top_p_one_too_many", Op::top_p, Fault::one_too_many,
          {"normal_1", 129, "kept", kNineTenths}),
    plant("X88", "top_p_larger_column_of_ties", Op::top_p, Fault::larger_column_of_ties,
          {"constant", 129, "kept", kHalf}),
    plant("X89", "top_p_keeps_all_ties", Op::top_p, Fault::keeps_all_ties, {"constant", 129, "kept", kHalf}),
    plant("X90", "top_p_adds_in_bf16", Op::top_p, Fault::adds_in_bf16,
          {"normal_1", 1025, "kept", kNineTenths}),
    plant("X91", "top_p_order_of_columns", Op::top_p, Fault::order_of_columns,
          {"normal_1", 129, "kept", kNineTenths}),
    plant("X92", "top_p_sixteen_candidates", Op::top_p, Fault::sixteen_candidates,
          {"normal_1", 129, "kept", kNineTenths}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
