// SPDX-License-Identifier: Apache-2.0
// Faults of top-k: in fused softmax + top-k, and in a right selection that is damaged.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

// Faults in fused softmax + top-k, planted one at a time into online_topk_block's shape.
namespace fused {

constexpr int kThreads = 64;

enum class Fault {
  none,
  short_lists,
  k_is_v,
  skips_tail,
  larger_index,
  half_lists,
  running_maximum,
  unsorted,
  pad_index,
  off_by_one,
  column_65535_is_none
};

template <Fault F, class T>
__global__ void mutant(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k,
                       bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    list.clear(k);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      n = combine(n, leaf(xi));
      if (F == Fault::skips_tail && i >= V / 4 * 4) continue;
      if (F == Fault::column_65535_is_none && i == 65535) continue;
      const long long at = F == Fault::larger_index ? V - 1 - i : F == Fault::off_by_one ? i + 1 : i;
      if (F == Fault::k_is_v && k == V) continue;
      list.insert(F == Fault::larger_index ? to_float(x[V - 1 - i]) : xi, F == Fault::larger_index ? -at : at,
                  F == Fault::short_lists && k > 8 ? 8 : k);
    }
    if (F == Fault::half_lists)
      for (int j = (k + 1) / 2; j < k; ++j) {
        list.key[j] = kNoKey;
        list.index[j] = kNoIndex;
      }
    const Normalizer own = n;
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (F == Fault::running_maximum) n.d = own.d;
    write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide, [=](long long i) {
      return from_float<T>(expf(to_float(x[F == Fault::off_by_one     ? (i - 1)
                                           : F == Fault::larger_index ? -i
                                                                      : i]) -
                                n.m) /
                           n.d);
    });
    if (threadIdx.x == 0) {
      int* index = static_cast<int*>(indices) + row * values.pitch;
      if (F == Fault::larger_index)
        for (int j = 0; j < k && j < V; ++j) index[j] = -index[j];
      if (F == Fault::pad_index)
        for (int j = 0; j < k; ++j)
          if (index[j] < 0) index[j] = static_cast<int>(V);
      if (F == Fault::unsorted && k > 1) {
        const int first = index[0];
        index[0] = index[1];
        index[1] = first;
        const T p = values.row(row)[0];
        values.row(row)[0] = values.row(row)[1];
        values.row(row)[1] = p;
      }
      if (m) {
        m[row] = n.m;
        d[row] = n.d;
      }
    }
  }
}

template <Fault F>
struct Topk {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 1,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(mutant<F, T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.indices, b.m, b.d, p.k,
           p.index_bytes() == 8, p.V);
  }
};

template <Fault F>
bool plant(const char* id, const char* fault, const Expect& expect) {
  return plant_kernel<f32>(id, fault, __FILE__, Topk<F>::op, Topk<F>::claim, Topk<F>::template run<f32>,
                           expect, kMaxK);
}

const bool planted[] = {
    plant<Fault::none>("R02", "topk_none", {"normal_1", 1025, ""}),
    plant<Fault::short_lists>("M103", "topk_short_lists", {"clustered_top", 4099, "order", 64}),
    plant<Fault::k_is_v>("M116", "topk_k_is_v", {"normal_1", 33, "indices", 33}),
    plant<Fault::skips_tail>("M102", "topk_skips_tail", {"ramp_1e4", 1023, "order"}),
    plant<Fault::larger_index>("X07", "topk_larger_index", {"ties", 1025, "order"}),
    plant<Fault::half_lists>("M103", "topk_half_lists", {"clustered_top", 1025, "order"}),
    plant<Fault::running_maximum>("M111", "topk_running_maximum", {"normal_1", 1025, "element"}),
    plant<Fault::unsorted>("M115", "topk_unsorted", {"normal_1", 1025, "order"}),
    plant<Fault::pad_index>("M110", "topk_pad_index", {"normal_1", 2, "indices"}),
    plant<Fault::off_by_one>("X08", "topk_off_by_one", {"normal_1", 1025, "order"}),
    plant<Fault::column_65535_is_none>("X52", "topk_column_65535_is_none",
                                       {.family = "width_edges", .V = 70001, .check = "order", .rows = 8}),
};

}  // namespace fused

// More faults of top-k: duplicates, NaN, ties, rounding before selection, and the width of an index. A right
// selection is damaged before, during or after it is written.
namespace selection {

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

}  // namespace selection

}  // namespace
}  // namespace assay::ASSAY_BACKEND
