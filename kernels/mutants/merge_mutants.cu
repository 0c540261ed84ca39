// SPDX-License-Identifier: Apache-2.0
// Faults where partial normalizers are merged: between warps, between parts of a row, between blocks, and in
// late rescaling. Each thread of a block folds its strided slice online; the warps' partials are merged by
// hand.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr float kThreshold = 0x1.62e430p+2f;  // 8 ln 2

enum class Fault {
  none,
  warps_added_without_rescale,
  masked_start_is_zero,
  late_rescale_in_new_frame,
  empty_part_divides,
  order_of_arrival,
  no_barrier_between_rows,
  merges_in_base_2,
  first_warp_counted_twice,
  last_warp_wins_ties,
  live_part_overwritten,
};
__host__ __device__ constexpr bool lazy(Fault f) { return f == Fault::late_rescale_in_new_frame; }

__device__ Normalizer fold(Fault f, Normalizer n, float x, float* maximum) {
  if (f == Fault::masked_start_is_zero) {
    // A slice that begins with -inf gets the reference 0 and keeps it.
    const float m = fmaxf(n.m, x);
    const float to = m == negative_infinity() ? 0.0f : m;
    return {to, (n.m == negative_infinity() ? 0.0f : n.d * expf(n.m - to)) + expf(x - to)};
  }
  if (lazy(f)) {
    // The reference n.m stays, but the term is computed with the new maximum.
    *maximum = fmaxf(*maximum, x);
    if (!(*maximum - n.m <= kThreshold)) n = {*maximum, n.d * expf(n.m - *maximum)};
    n.d += expf(x - *maximum);
    return n;
  }
  return combine(n, leaf(x));
}

__device__ Normalizer merge(Fault f, Normalizer a, Normalizer b) {
  if (f == Fault::empty_part_divides) {
    // Parts are kept normalised as (m, 1) with a weight. An empty part has weight 0 / 0.
    const float m = fmaxf(a.m, b.m);
    const float wa = a.d * expf(a.m - m) / a.d, wb = b.d * expf(b.m - m) / b.d;
    return {m, a.d * wa + b.d * wb};
  }
  if (f == Fault::merges_in_base_2) {
    const Normalizer high = a.m > b.m ? a : b, low = a.m > b.m ? b : a;
    if (low.m == negative_infinity()) return high;
    return {high.m, high.d + low.d * exp2f(low.m - high.m)};
  }
  if (f == Fault::last_warp_wins_ties && a.m == b.m) return b;
  return combine(a, b);
}

/// All threads get the merge of all values. The second of the two barriers separates rows.
__device__ Normalizer reduce(Fault f, Normalizer n) {
  ASSAY_SHARED(Normalizer, partial, kWarps);
  ASSAY_SHARED(float, arrived, 1);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  n = warp_reduce<Combine<AccurateExp>>(n);
  if (lane == 0) partial[warp] = n;
  if (threadIdx.x == 0) arrived[0] = 0.0f;
  __syncthreads();
  Normalizer total = partial[0];
  for (int w = 1; w < kWarps; ++w)
    total = f == Fault::warps_added_without_rescale
                ? Normalizer{fmaxf(total.m, partial[w].m), total.d + partial[w].d}
                : merge(f, total, partial[w]);
  if (f == Fault::first_warp_counted_twice) total = combine(total, partial[0]);
  if (f == Fault::live_part_overwritten && partial[kWarps - 1].m == negative_infinity())
    total.d = partial[kWarps - 1].d;
  if (f == Fault::order_of_arrival) {
    // The share of every thread is added in order of arrival.
    const float own = n.m == negative_infinity() ? 0.0f : n.d * expf(n.m - total.m) * (1.0f / 32.0f);
    atomicAdd(arrived, own);
    __syncthreads();
    total.d = arrived[0];
  }
  if (f != Fault::no_barrier_between_rows) __syncthreads();
  return total;
}

template <class T>
__global__ void merged_softmax(Fault f, Rows<const T> logits, Rows<T> probs, float* m, float* d,
                               std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = fold(f, n, to_float(x[i]), &maximum);
    n = reduce(f, n);
    if (lazy(f)) {
      maximum = block_reduce<Max, kThreads>(maximum);
      if (n.m != maximum) n = {maximum, n.d * expf(n.m - maximum)};
    }
    T* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

/// Two blocks per row. Each publishes its half, and a fence is used as if it were a barrier of the grid.
template <class T>
__global__ void fence_as_barrier(Rows<const T> logits, Rows<T> probs, Normalizer* halves, float* m, float* d,
                                 std::int64_t V) {
  for (std::int64_t unit = blockIdx.x; unit < 2 * logits.count; unit += gridDim.x) {
    const std::int64_t row = unit / 2, half = unit % 2;
    const std::int64_t from = half ? V / 2 : 0, to = half ? V : V / 2;
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = from + threadIdx.x; i < to; i += kThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (threadIdx.x == 0) halves[unit] = n;
    __threadfence();
    n = combine(n, halves[unit ^ 1]);
    T* p = probs.row(row);
    for (std::int64_t i = from + threadIdx.x; i < to; i += kThreads)
      p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    if (m && threadIdx.x == 0 && half) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

constexpr Claim claim(bool late) {
  return {
      .algorithm = Algorithm::online,
      .rescale_threshold = late ? static_cast<double>(kThreshold) : 0.0,
      .height = [](std::int64_t V) { return block_height(V, kThreads) + kWarps; },
      .loads = 2,
      .stores = 1,
  };
}

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Op::softmax, claim(lazy(f)),
                         softmax_by(merged_softmax<T>, kThreads, f), expect);
}

bool plant_fence() {
  Mutant m;
  m.variant.backend = kBackend;
  m.variant.claim = claim(false);
  m.variant.file = __FILE__;
  m.variant.workspace_bytes = [](const Problem& p) {
    return static_cast<std::size_t>(2 * p.rows) * sizeof(Normalizer);
  };
  m.variant.run = [](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.rows > 0 && p.V > 0)
      launch(fence_as_barrier<f32>, grid_for(2 * p.rows, s), kThreads, 0, s, logits_of<f32>(p, b),
             values_of<f32>(p, b), static_cast<Normalizer*>(b.workspace), b.m, b.d, p.V);
  };
  m.id = "M82";
  m.fault = "fence_as_barrier";
  m.expect = {"normal_1", 1025, "element"};
  return register_mutant(std::move(m));
}

constexpr const char* kRace = "on a GPU the hardware's own order seldom shows it; racecheck does";

const bool planted[] = {
    plant("R14", "merge_none", Fault::none, {"normal_10", 4099, ""}),
    plant("M34", "warps_added_without_rescale", Fault::warps_added_without_rescale,
          {"normal_1", 129, "normalizer"}),
    plant("M36", "masked_start_is_zero", Fault::masked_start_is_zero, {"inf_tile", 1025, "element"}),
    plant("M39", "late_rescale_in_new_frame", Fault::late_rescale_in_new_frame,
          {"staircase", 1025, "element"}),
    plant("M43", "empty_part_divides", Fault::empty_part_divides, {"normal_1", 2, "element"}),
    plant("M43", "empty_part_divides_masked", Fault::empty_part_divides, {"inf_warp", 1025, "element"}),
    plant("M45", "order_of_arrival", Fault::order_of_arrival,
          {.V = 4099, .check = "repeat", .only = "host", .why = kRace}),
    plant("M81", "no_barrier_between_rows", Fault::no_barrier_between_rows,
          {.family = "row_encoded", .check = "element", .rows = 9, .only = "host", .why = kRace}),
    plant("A48", "merges_in_base_2", Fault::merges_in_base_2, {"normal_1", 129, "normalizer"}),
    plant("A47", "first_warp_counted_twice", Fault::first_warp_counted_twice, {"normal_1", 129, "row_sum"}),
    plant("X36", "last_warp_wins_ties", Fault::last_warp_wins_ties, {"constant", 129, "row_sum"}),
    plant("A10", "live_part_overwritten", Fault::live_part_overwritten, {"normal_1", 33, "element"}),
    plant_fence(),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
