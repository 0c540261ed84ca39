// SPDX-License-Identifier: Apache-2.0
// Right kernels of many kinds. Each runs with the declaration that its author would write, and again without
// one if it needs none. All must pass on every family: a false alarm is as bad as a miss.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;

enum class Way {
  kahan,        // compensated sums per thread, then a tree
  two_pass,     // maximum, then sum
  serial,       // thread 0 adds all terms
  propagates,   // a maximum that propagates NaN
  sentinel,     // the maximum starts at -FLT_MAX; smaller elements count as -FLT_MAX
  zeros,        // a row of only -inf gives 0
  winners,      // NaN at +inf, and 0 elsewhere
  one_divisor,  // one reciprocal per row
  fast,         // __expf and __fdividef
  exp2,         // exp2 of a fused product
  atomics,      // partial sums in order of arrival
};

__device__ float larger_or_nan(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
struct LargerOrNan {
  using T = float;
  __device__ static float neutral() { return negative_infinity(); }
  __device__ static float merge(float a, float b) { return larger_or_nan(a, b); }
};

template <class T>
__global__ void right_softmax(Way w, Rows<const T> logits, Rows<T> probs, std::int64_t V) {
  ASSAY_SHARED(float, arrived, 1);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    const bool keeps_nan = w == Way::propagates || w == Way::zeros || w == Way::winners;
    float m = w == Way::sentinel ? -0x1.fffffep127f : negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      m = keeps_nan ? larger_or_nan(m, to_float(x[i])) : fmaxf(m, to_float(x[i]));
    m = keeps_nan ? block_reduce<LargerOrNan, kThreads>(m) : block_reduce<Max, kThreads>(m);

    const float scaled = __fmul_rn(m, kLog2e);
    const auto numerator = [=](float xi) {
      if (w == Way::exp2) return exp2_shifted(xi, scaled);
      return w == Way::fast ? __expf(xi - m) : expf(xi - m);
    };
    float sum = 0.0f, lost = 0.0f;
    const std::int64_t first = w == Way::serial ? (threadIdx.x == 0 ? 0 : V) : threadIdx.x;
    for (std::int64_t i = first; i < V; i += w == Way::serial ? 1 : kThreads) {
      const float e = numerator(to_float(x[i]));
      if (w == Way::kahan) {
        const float y = __fsub_rn(e, lost), t = __fadd_rn(sum, y);
        lost = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
      } else {
        sum += e;
      }
    }
    if (w == Way::atomics) {
      if (threadIdx.x == 0) arrived[0] = 0.0f;
      __syncthreads();
      atomicAdd(arrived, sum);
      __syncthreads();
      sum = arrived[0];
      __syncthreads();
    } else {
      sum = block_reduce<Sum, kThreads>(sum);
    }
    const float reciprocal = 1.0f / sum;
    T* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]), e = numerator(xi);
      float y = w == Way::one_divisor || w == Way::exp2 ? e * reciprocal
                : w == Way::fast                        ? __fdividef(e, sum)
                                                        : e / sum;
      if (w == Way::zeros && m == negative_infinity()) y = 0.0f;
      if (w == Way::winners && m == positive_infinity() && xi != m) y = 0.0f;
      p[i] = from_float<T>(y);
    }
  }
}

/// Keeps exps in the outputs, taken with a thread's own maximum, and rescales them at the end: one pass over
/// the logits.
template <class T>
__global__ void kept_numerators(Rows<const T> logits, Rows<T> probs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float own = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) own = fmaxf(own, to_float(x[i]));
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      sum += to_float(x[i]) == negative_infinity() ? 0.0f : expf(to_float(x[i]) - own);
    const float m = block_reduce<Max, kThreads>(own);
    const float factor = own == negative_infinity() && m != own ? 0.0f : expf(own - m);
    sum = block_reduce<Sum, kThreads>(sum * factor);
    T* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      const float e = xi == negative_infinity() ? 0.0f : expf(xi - own);
      p[i] = from_float<T>(e * factor / sum);
    }
  }
}

/// One thread per row: the paper's Algorithm 3 as written.
__global__ void serial_online(Rows<const f32> logits, Rows<f32> probs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    if (threadIdx.x > 0) continue;
    const f32* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = 0; i < V; ++i) n = combine(n, leaf(x[i]));
    for (std::int64_t i = 0; i < V; ++i) probs.row(row)[i] = expf(x[i] - n.m) / n.d;
  }
}

/// Safe softmax with every operation in the 16-bit type.
__global__ void half_internals(Rows<const f16> logits, Rows<f16> probs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const f16* x = logits.row(row);
    float m = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) m = fmaxf(m, to_float(x[i]));
    const f16 maximum = from_float<f16>(block_reduce<Max, kThreads>(m));
    ASSAY_SHARED(f16, partial, kThreads);
    f16 sum = from_float<f16>(0.0f);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum = __hadd(sum, hexp(__hsub(x[i], maximum)));
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        partial[threadIdx.x] = __hadd(partial[threadIdx.x], partial[threadIdx.x + half]);
      __syncthreads();
    }
    sum = partial[0];
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      probs.row(row)[i] = __hdiv(hexp(__hsub(x[i], maximum)), sum);
  }
}

/// ignores_nan never selects a NaN. repeats_last fills empty slots with the last selection.
enum class Order { shuffled, larger_index, nan_first, ignores_nan, repeats_last };

/// Top-k by k passes over the row, one thread per row.
__global__ void select_by_passes(Order o, bool probabilities, Rows<const f32> logits, Rows<f32> values,
                                 void* indices, int k, bool wide, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    if (threadIdx.x > 0) continue;
    const f32* x = logits.row(row);
    float m = negative_infinity(), sum = 0.0f;
    for (std::int64_t i = 0; i < V; ++i) m = fmaxf(m, x[i]);
    for (std::int64_t i = 0; i < V; ++i) sum += expf(x[i] - m);
    const auto place = [o](std::int64_t i) {
      return o == Order::shuffled
                 ? static_cast<long long>((static_cast<std::uint64_t>(i) * 0x9e3779b1u) & 0x7fffffffu)
             : o == Order::larger_index ? -static_cast<long long>(i)
                                        : static_cast<long long>(i);
    };
    const auto key = [o](float v) { return v != v && o == Order::nan_first ? 0x7fffffff : rank_key(v); };
    Ranked last{0x7fffffff, -kNoIndex};
    std::int64_t last_index = -1;
    for (int j = 0; j < k; ++j) {
      Ranked best{kNoKey, kNoIndex};
      std::int64_t best_index = -1;
      for (std::int64_t i = 0; i < V; ++i) {
        if (o == Order::ignores_nan && x[i] != x[i]) continue;
        const Ranked r{key(x[i]), place(i)};
        const bool after = last_index < 0 || (i != last_index && ranks_before(last, r));
        if (after && (best_index < 0 || ranks_before(r, best))) best = r, best_index = i;
      }
      if (o == Order::repeats_last && best_index < 0) best_index = last_index;
      store_index(indices, row * values.pitch + j, best_index, wide);
      values.row(row)[j] = best_index < 0  ? 0.0f
                           : probabilities ? expf(x[best_index] - m) / sum
                                           : x[best_index];
      if (best_index < 0 || best_index == last_index) continue;
      last = best, last_index = best_index;
    }
  }
}

/// Whether every row must be judged, or only rows for which the claimed arithmetic is precise enough.
enum class Judgeable { everywhere, where_rows_are };

/// Registers `run` with its author's declaration and, if `undeclared` is not empty, also without one.
template <class T, class Run>
bool plant(const char* id, const char* fault, const char* undeclared, Op op, const char* declaration, Run run,
           int max_k = 0, Judgeable judgeable = Judgeable::everywhere) {
  Expect every;
  every.family = "";
  every.declaration = declaration;
  every.judgeable_rows_only = judgeable == Judgeable::where_rows_are;
  const bool declared = plant_kernel<T>(id, fault, __FILE__, op, Claim{}, run, every, max_k);
  every.declaration = "";
  return declared &&
         (!*undeclared || plant_kernel<T>(id, undeclared, __FILE__, op, Claim{}, run, every, max_k));
}

template <class T = f32>
bool plant(const char* id, const char* fault, const char* undeclared, Way w, const char* declaration) {
  return plant<T>(id, fault, undeclared, Op::softmax, declaration,
                  [w](const Problem& p, const Buffers& b, const Stream& s) {
                    launch(right_softmax<T>, grid_for(p.rows, s), kThreads, 0, s, w, logits_of<T>(p, b),
                           values_of<T>(p, b), p.V);
                  });
}

template <class T>
void run_kept(const Problem& p, const Buffers& b, const Stream& s) {
  launch(kept_numerators<T>, grid_for(p.rows, s), kThreads, 0, s, logits_of<T>(p, b), values_of<T>(p, b),
         p.V);
}
void run_serial_online(const Problem& p, const Buffers& b, const Stream& s) {
  launch(serial_online, grid_for(p.rows, s), 32, 0, s, logits_of<f32>(p, b), values_of<f32>(p, b), p.V);
}
void run_half(const Problem& p, const Buffers& b, const Stream& s) {
  launch(half_internals, grid_for(p.rows, s), kThreads, 0, s, logits_of<f16>(p, b), values_of<f16>(p, b),
         p.V);
}
template <Order O>
void run_select(const Problem& p, const Buffers& b, const Stream& s) {
  launch(select_by_passes, grid_for(p.rows, s), 32, 0, s, O, p.op == Op::softmax_topk, logits_of<f32>(p, b),
         values_of<f32>(p, b), b.indices, p.k, p.index_bytes() == 8, p.V);
}

constexpr const char* kSafe =
    "algorithm=safe; division=ieee; normalise=recomputed; height=V/128+7; determinism=run_to_run";

const bool planted[] = {
    plant("R20", "right_kahan", "right_kahan_undeclared", Way::kahan,
          "algorithm=safe; division=ieee; normalise=recomputed; height=10"),
    plant("R21", "right_two_pass", "right_two_pass_undeclared", Way::two_pass, kSafe),
    plant<f16>("R21", "right_two_pass_f16", "right_two_pass_f16_undeclared", Way::two_pass, kSafe),
    plant<bf16>("R21", "right_two_pass_bf16", "right_two_pass_bf16_undeclared", Way::two_pass, kSafe),
    plant("R22", "right_serial", "right_serial_undeclared", Way::serial,
          "algorithm=safe; division=ieee; normalise=recomputed; height=V"),
    plant("R23", "right_propagates", "right_propagates_undeclared", Way::propagates, kSafe),
    plant("R24", "right_sentinel", "right_sentinel_undeclared", Way::sentinel, kSafe),
    plant("R25", "right_zeros", "", Way::zeros,
          "algorithm=safe; division=ieee; normalise=recomputed; height=V/128+7; all_neg_inf=zero"),
    plant("R26", "right_winners", "", Way::winners,
          "algorithm=safe; division=ieee; normalise=recomputed; height=V/128+7; pos_inf=inf_only"),
    plant("R27", "right_reciprocal", "right_reciprocal_undeclared", Way::one_divisor,
          "algorithm=safe; division=reciprocal; normalise=recomputed; height=V/128+7"),
    plant("R28", "right_fast", "", Way::fast,
          "algorithm=safe; exp=fast; division=approximate; normalise=recomputed; height=V/128+7"),
    plant("R29", "right_exp2", "", Way::exp2,
          "algorithm=safe; exp=exp2_fma; division=reciprocal; normalise=recomputed; height=V/128+7"),
    plant("R30", "right_atomics", "right_atomics_undeclared", Way::atomics,
          "algorithm=safe; division=ieee; normalise=recomputed; height=min(V, V/128+128); "
          "determinism=not_guaranteed"),
    plant<f32>("R31", "right_kept", "right_kept_undeclared", Op::softmax,
               "algorithm=online; division=ieee; normalise=kept; height=V/128+7", run_kept<f32>),
    plant<bf16>("R31", "right_kept_bf16", "right_kept_bf16_undeclared", Op::softmax,
                "algorithm=online; division=ieee; normalise=kept; height=V/128+7", run_kept<bf16>),
    plant<f32>("R32", "right_serial_online", "right_serial_online_undeclared", Op::softmax,
               "algorithm=online; division=ieee; normalise=recomputed; height=V", run_serial_online),
    // f16 arithmetic has errors so large that rows of more than a few terms cannot be judged.
    plant<f16>("R33", "right_half_internals", "", Op::softmax,
               "algorithm=safe; exp=half; internals=f16; division=ieee; normalise=recomputed; height=V/128+7",
               run_half, 0, Judgeable::where_rows_are),
    plant<f32>("R34", "right_shuffled_ties", "right_shuffled_ties_undeclared", Op::softmax_topk,
               "algorithm=safe; height=V; ties=unspecified; select=logits; max_k=64",
               run_select<Order::shuffled>, 64),
    plant<f32>("R35", "right_larger_index", "right_larger_index_undeclared", Op::topk,
               "ties=larger_index; select=logits; max_k=64", run_select<Order::larger_index>, 64),
    plant<f32>("R35", "right_larger_index_probs", "right_larger_index_probs_undeclared", Op::softmax_topk,
               "algorithm=safe; height=V; ties=larger_index; select=logits; max_k=64",
               run_select<Order::larger_index>, 64),
    plant<f32>("R36", "right_nan_first", "right_nan_first_undeclared", Op::topk,
               "nan_order=first; ties=smaller_index; select=logits; max_k=64", run_select<Order::nan_first>,
               64),
    plant<f32>("R39", "right_ignores_nan", "", Op::topk,
               "nan_order=ignored; ties=smaller_index; select=logits; max_k=64",
               run_select<Order::ignores_nan>, 64),
    plant<f32>("R39", "right_ignores_nan_probs", "", Op::softmax_topk,
               "algorithm=safe; height=V; nan_order=ignored; ties=smaller_index; select=logits; max_k=64",
               run_select<Order::ignores_nan>, 64),
    plant<f32>("R40", "right_k_up_to_V", "", Op::softmax_topk,
               "algorithm=safe; height=V; ties=smaller_index; select=logits; max_k=64; k_up_to_V=yes",
               run_select<Order::repeats_last>, 64),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
