// SPDX-License-Identifier: Apache-2.0
// More faults of top-k: duplicates, NaN, ties, rounding before selection, and the width of an index. A right
// selection is damaged before, during or after it is written.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

enum class Fault {
  none,
  duplicates_ties,
  drops_nan,
  ranks_rounded_probs,
  indices_of_64_bits,
  negative_zero_is_less,
  value_of_next,
  first_of_full_row,
  sums_only_selected,
  stops_at_minus_infinity,
  repeats_last,
  leaves_old_index,
};

template <class T>
__global__ void select(Fault f, bool probabilities, Rows<const T> logits, Rows<T> values, void* indices,
                       float* m, float* d, int k, bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    list.clear(k);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      float xi = to_float(x[i]);
      if ((f == Fault::drops_nan || f == Fault::leaves_old_index) && xi != xi) continue;
      if (f == Fault::stops_at_minus_infinity && xi == negative_infinity()) continue;
      if (f == Fault::ranks_rounded_probs) xi = to_float(from_float<T>(expf(xi - n.m) / n.d));
      if (f == Fault::negative_zero_is_less && __float_as_int(xi) == static_cast<int>(0x80000000u))
        xi = -0x1p-126f;
      if (f == Fault::first_of_full_row && V == 1024 && i == 0) continue;
      list.insert(xi, i, k);
    }
    const float divisor = n.d;
    write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide, [=](long long i) {
      if (f == Fault::value_of_next && i + 1 < V) ++i;
      return probabilities ? from_float<T>(expf(to_float(x[i]) - n.m) / divisor) : x[i];
    });
    if (threadIdx.x == 0) {
      int* index = static_cast<int*>(indices) + row * values.pitch;
      T* value = values.row(row);
      if (f == Fault::duplicates_ties)
        for (int j = 1; j < k && j < V; ++j)
          if (to_float(x[index[j]]) == to_float(x[index[j - 1]])) index[j] = index[j - 1];
      if (f == Fault::repeats_last && k < V && k > 1) {
        index[k - 1] = index[k - 2];
        value[k - 1] = value[k - 2];
      }
      if (f == Fault::leaves_old_index)
        for (int j = 1; j < k; ++j)
          if (index[j] < 0) index[j] = index[j - 1];
      if (f == Fault::sums_only_selected) {
        float selected = 0.0f;
        for (int j = 0; j < k && j < V; ++j) selected += to_float(value[j]);
        for (int j = 0; j < k && j < V; ++j) value[j] = from_float<T>(to_float(value[j]) / selected);
      }
      if (m) {
        m[row] = n.m;
        d[row] = n.d;
      }
    }
  }
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect, Op op = Op::softmax_topk) {
  const Claim claim{
      .algorithm = Algorithm::online,
      .height =
          op == Op::topk ? Height(nullptr) : Height([](std::int64_t V) { return block_height(V, kThreads); }),
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
  };
  return plant_kernel<T>(
      id, fault, __FILE__, op, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        const bool wide = p.index_bytes() == 8 || f == Fault::indices_of_64_bits;
        launch(select<T>, grid_for(p.rows, s), kThreads, 0, s, f, p.op == Op::softmax_topk,
               logits_of<T>(p, b), values_of<T>(p, b), b.indices, b.m, b.d, p.k, wide, p.V);
      },
      expect, kMaxK);
}

/// For a kernel that declares to ignore NaN, on rows with NaN.
Expect ignoring(const char* check) {
  Expect e{"nan", 33, check, 64};
  e.declaration = "nan_order=ignored; ties=smaller_index; select=logits; max_k=64";
  return e;
}

const bool planted[] = {
    plant("R16", "select_none", Fault::none, {"ties", 1025, ""}),
    plant("R16", "select_none_logits", Fault::none, {"nan", 33, ""}, Op::topk),
    plant("M105", "topk_duplicates_ties", Fault::duplicates_ties, {"ties", 1025, "indices"}),
    plant("M106", "topk_drops_nan", Fault::drops_nan, {"nan", 33, "indices"}, Op::topk),
    plant<f16>("M113", "topk_ranks_rounded_probs_f16", Fault::ranks_rounded_probs,
               {"all_negative", 1025, "order", 64}),
    plant("M118", "topk_indices_of_64_bits", Fault::indices_of_64_bits, {"normal_1", 129, "guard"}),
    plant("X38", "topk_negative_zero_is_less", Fault::negative_zero_is_less, {"ties", 1025, "order", 64},
          Op::topk),
    plant("X39", "topk_value_of_next", Fault::value_of_next, {"normal_1", 129, "gather"}, Op::topk),
    plant("X40", "topk_first_of_full_row", Fault::first_of_full_row, {"descending", 1024, "order"}),
    plant("A148", "topk_sums_only_selected", Fault::sums_only_selected, {"normal_1", 129, "element"}),
    plant("A147", "topk_stops_at_minus_infinity", Fault::stops_at_minus_infinity,
          {"single_finite", 33, "indices"}),
    plant("R39", "select_ignores_nan", Fault::drops_nan, ignoring(""), Op::topk),
    plant("X48", "topk_takes_ignored_nan", Fault::none, ignoring("indices"), Op::topk),
    plant("X49", "topk_leaves_old_index", Fault::leaves_old_index, ignoring("indices"), Op::topk),
    plant("X41", "topk_repeats_last", Fault::repeats_last, {"normal_1", 129, "indices"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
