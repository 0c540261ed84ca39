// SPDX-License-Identifier: Apache-2.0
// top_p, the nucleus: the fewest largest elements whose probabilities add up to a threshold, and their
// softmax; of equal logits the smaller column first. One read finds (m, d) and the best kTopPCandidates of a
// row (no candidates of 2^32 - 1 elements or more). With a temperature, a second read finds d. Where the exps
// of the candidates reach threshold x d, they hold the set. Elsewhere a search by rank reads the row 16 times
// more (f16: 10, bf16: 8), then once for the ties and once for the outputs.
#pragma once

#include "kernels/building_blocks/onepass_topk/kept.cuh"
#include "kernels/building_blocks/onepass_topk/softmax_of_slots.cuh"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kTopPCandidates = kSelectThreads;

/// The selection without exps is compiled once for each type, in onepass_topk_softmax.cu.
extern template BestOfRows<f16> launch_selection<LogitsOnly, kTopPCandidates>(const Call<f16>&);
extern template BestOfRows<bf16> launch_selection<LogitsOnly, kTopPCandidates>(const Call<bf16>&);
extern template BestOfRows<f32> launch_selection<LogitsOnly, kTopPCandidates>(const Call<f32>&);

struct TopPShared {
  float of_warps[kSetWarps];
  int firsts[kSetWarps], counts[2][kSetWarps];
  float kept_sum;
  std::int64_t last;
  unsigned long long ties;
};

/// Sum of the values of all threads up to the calling one. All threads must call it.
__device__ __forceinline__ float sum_up_to(float value, TopPShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float other = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(step));
    if (lane >= step) value += other;
  }
  if (lane == 31) shared.of_warps[warp] = value;
  __syncthreads();  // all warps' sums are there
  float before = 0.0f;
#pragma unroll
  for (int w = 0; w < kSetWarps - 1; ++w)
    if (w < warp) before += shared.of_warps[w];
  return before + value;
}

/// The first thread of the block for which `is` is true; kSelectThreads if there is none. All threads must
/// call it, and meet at a barrier before the next call.
__device__ __forceinline__ int first_thread(bool is, TopPShared& shared) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned lanes = __ballot_sync(kAllLanes, is);
  if (threadIdx.x % 32 == 0)
    shared.firsts[warp] = lanes ? warp * 32 + __ffs(static_cast<int>(lanes)) - 1 : kSelectThreads;
  __syncthreads();  // all warps' first threads are there
  int first = kSelectThreads;
#pragma unroll
  for (int w = 0; w < kSetWarps; ++w) first = min(first, shared.firsts[w]);
  return first;
}

/// Bits of a rank that all logits of a type have alike: 0 in those of positive numbers, 1 in others.
template <class T>
inline constexpr int kIdleBits = sizeof(T) == 4           ? 0
                                 : std::is_same_v<T, f16> ? 12
                                                          : 16;

/// Where a set ends: all that ranks above `rank` belongs to it, and as many of that rank as the goal needs.
/// `above`: the sum over what ranks above.
struct SetEnd {
  unsigned rank;  // without its idle bits; 0 if the whole row is kept
  float above;
};

/// The largest rank from which on the exps add up to the goal, two bits after the other.
template <class E, class T, class Tempering>
__device__ __forceinline__ SetEnd search_end(const T* x, std::int64_t V, float m, const Tempering& by,
                                             float goal) {
  SetEnd end{0, 0.0f};
  for (int bit = 30; bit >= kIdleBits<T>; bit -= 2) {
    float sums[3] = {0.0f, 0.0f, 0.0f};
    walk_chunks<kSelectThreads>(x, V, static_cast<int>(threadIdx.x), [&](const auto& c) {
      for (const float xi : c.x) {
        const unsigned rank = unsigned_rank(xi);
        const float e = exp_of<E>(by, xi, m);
#pragma unroll
        for (unsigned i = 0; i < 3; ++i) sums[i] += rank >= (end.rank | (i + 1) << bit) ? e : 0.0f;
      }
    });
    unsigned digit = 0;
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) {
      sums[i] = block_reduce<Sum, kSelectThreads>(sums[i]);
      if (sums[i] >= goal)
        digit = i + 1;
      else if (digit == i)
        end.above = sums[i];
    }
    end.rank |= digit << bit;
  }
  return end;
}

/// The last column of the first `wanted` elements of a rank. All threads must call it.
template <class T>
__device__ __forceinline__ std::int64_t last_tie(const T* x, std::int64_t V, unsigned rank, long long wanted,
                                                 TopPShared& shared) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  long long seen = 0;
  int turn = 0;
  for (std::int64_t base = 0; base < V; base += kSelectThreads, turn ^= 1) {
    const std::int64_t i = base + thread;
    const bool tie = i < V && unsigned_rank(to_float(x[i])) >> kIdleBits<T> == rank >> kIdleBits<T>;
    const unsigned lanes = __ballot_sync(kAllLanes, tie);
    if (lane == 0) shared.counts[turn][warp] = __popc(lanes);
    __syncthreads();  // all counts are there; the next turn writes others
    long long before = seen + __popc(lanes & ((1u << lane) - 1));
    for (int w = 0; w < kSetWarps; ++w) {
      if (w < warp) before += shared.counts[turn][w];
      seen += shared.counts[turn][w];
    }
    if (tie && before + 1 == wanted) shared.last = i;
    if (seen >= wanted) break;
  }
  __syncthreads();  // the column is there
  return shared.last;
}

/// Writes a row whose set goes beyond its candidates.
template <class Form, class T, class Tempering>
__device__ __forceinline__ void put_large_set(const T* x, T* p, std::int64_t V, float m, const Tempering& by,
                                              float goal, TopPShared& shared) {
  using E = typename Form::Exp;
  constexpr unsigned kIdle = (1u << kIdleBits<T>)-1;
  const int thread = static_cast<int>(threadIdx.x);
  const SetEnd end = search_end<E>(x, V, m, by, goal);
  Normalizer n{by.maximum(m), end.above};
  long long ties = 0, wanted = 0;
  if (end.rank != 0) {
    const bool positive = end.rank >= 0x80000000u;
    const float tie = exp_of<E>(by, ranked_logit(positive ? end.rank : end.rank | kIdle), m);
    if (thread == 0) shared.ties = 0;
    __syncthreads();  // the count is 0
    unsigned long long own = 0;
    walk_chunks<kSelectThreads>(x, V, thread, [&](const auto& c) {
      for (const float xi : c.x) own += unsigned_rank(xi) >> kIdleBits<T> == end.rank >> kIdleBits<T>;
    });
    atomicAdd(&shared.ties, own);
    __syncthreads();  // all have counted
    ties = static_cast<long long>(shared.ties);
    const float needed = ceilf((goal - end.above) / tie);
    wanted = needed >= static_cast<float>(ties) ? ties : static_cast<long long>(fmaxf(needed, 1.0f));
    n.d += static_cast<float>(wanted) * tie;
  }
  const Form form(n);
  write_row<kSelectThreads>(x, p, V, thread, [&](auto& c) {
    const auto logit = c;
    for (float& xi : c.x) xi = by.logit(xi, m);
    form.template outputs<T>(c);
    for (int j = 0; j < static_cast<int>(sizeof(c.x) / sizeof(float)); ++j)
      if (unsigned_rank(logit.x[j]) < end.rank) c.x[j] = 0.0f;
  });
  if (wanted == ties) return;
  __syncthreads();  // the ties have been written, all of them
  for (std::int64_t i = last_tie(x, V, end.rank, wanted, shared) + 1 + thread; i < V; i += kSelectThreads)
    if (unsigned_rank(to_float(x[i])) >> kIdleBits<T> == end.rank >> kIdleBits<T>) p[i] = from_float<T>(0.0f);
}

/// Sum of the exps of a row, by all threads of a block.
template <class E, class T, class Tempering>
__device__ __forceinline__ float sum_of_row(const T* x, std::int64_t V, float m, const Tempering& by) {
  float sum = 0.0f;
  walk_chunks<kSelectThreads>(x, V, static_cast<int>(threadIdx.x), [&](const auto& c) {
    for (const float xi : c.x) sum += exp_of<E>(by, xi, m);
  });
  return block_reduce<Sum, kSelectThreads>(sum);
}

template <class Form, class Tempering, class T>
__global__ void __launch_bounds__(kSelectThreads)
    top_p_rows(Rows<const T> logits, const float* temperatures, Rows<T> probs, BestOfRows<T> best,
               float threshold, std::int64_t V) {
  ASSAY_SHARED(TopPShared, shared, 1);
  const int thread = static_cast<int>(threadIdx.x);
  const int candidates = static_cast<int>(V < best.count ? V : best.count);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    T* const p = probs.row(row);
    const Tempering by(temperatures, row);
    const float m = best.m[row];
    float d = best.d[row];
    if constexpr (Tempering::operands != 0) d = sum_of_row<typename Form::Exp>(logits.row(row), V, m, by);
    if (no_set(m, d)) {
      fill_row(p, V, quiet_nan());
      continue;
    }
    const float goal = threshold * d;
    const float own = thread < candidates
                          ? exp_of<typename Form::Exp>(by, to_float(best.logits.row(row)[thread]), m)
                          : 0.0f;
    const float sum = sum_up_to(own, shared[0]);
    const int first = first_thread(thread < candidates && sum >= goal, shared[0]);
    if (first < candidates || candidates == V) {
      const int last = first < candidates ? first : candidates - 1;
      if (thread == last) shared[0].kept_sum = sum;
      __syncthreads();  // the sum of the set is there
      put_kept<Form>(best, row, last + 1, Normalizer{m, shared[0].kept_sum}, by, p, V);
    } else {
      put_large_set<Form>(logits.row(row), p, V, m, by, goal, shared[0]);
    }
    __syncthreads();  // the row's outputs are there; what the block shares is free
  }
}

template <class T>
constexpr std::int64_t top_p_height(std::int64_t V) {
  // The sum over the row; or one over its larger elements, and the ties as one product.
  const std::int64_t searched = chunk_share<T>(V, kSelectThreads) + block_levels(kSelectThreads) + 3;
  return std::max(topk_height<T>(V), searched);
}

/// The path as a variant, its exp and division by Form.
template <class Form, class Tempering = NoTemperature>
struct TopPLadder {
  static constexpr bool kTwoReads = Tempering::operands != 0;
  using Selection = std::conditional_t<kTwoReads, LogitsOnly, LogitsAndSum<typename Form::Exp>>;
  static constexpr Op op = Op::top_p;
  static constexpr Pace pace = Pace::copy;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = kTwoReads ? Algorithm::safe : Algorithm::online,
        .exp = Form::exp,
        .division = Form::division,
        .height = top_p_height<T>,
        .ftz = Form::ftz,
        .ties = Ties::smaller_index,
        .loads = kTwoReads ? 2 : 1,
        .stores = 1,
        .batch_invariant = false,
    };
  }
  template <class T>
  static constexpr Operands operands_for() {
    return {.parts = Tempering::operands};
  }
  static std::size_t workspace_bytes(const Problem& p) { return kept_bytes<Selection>(p, kTopPCandidates); }
  template <class T>
  static void run(const Call<T>& c) {
    const BestOfRows<T> best = launch_selection<Selection, kTopPCandidates>(c);
    launch(top_p_rows<Form, Tempering, T>, c.blocks(), kSelectThreads, 0, c.stream, c.logits,
           c.buffers.temperatures, c.probs, best, c.problem.threshold, c.V);
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
