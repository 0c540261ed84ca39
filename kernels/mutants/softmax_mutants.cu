// SPDX-License-Identifier: Apache-2.0
// Faults in block-per-row softmax, planted one at a time into one kernel. It has the form of online_block, or
// maximum-then-sum like safe where the fault needs it. Fault::none is the kernel itself and must pass.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

constexpr const char* kUndefined =
    "a barrier that some threads never reach is undefined on a GPU, and may hang";

enum class Fault {
  none,
  no_rescale,
  rescale_inverted,
  max_from_zero,
  max_from_minus_5e4,
  no_identity_guard,
  sum_skips_last,
  sum_reads_past_end,
  write_skips_last,
  writes_past_end,
  own_lane_maximum,
  lane_zero_maximum,
  slice_lost_from_maximum,
  half_below_maximum,
  divisor_off,
  butterfly_short,
  first_warp_only,
  no_barrier_before_merge,
  no_barrier_before_read,
  divergent_barrier,
  pitch_ignored,
  rows_swapped,
  inputs_overwritten,
  separate_products,
  narrow_sum,
  sentinel_hides_nan,
  last_rows_skipped,
  reads_output,
  all_zero,
  uniform,
  tail_too_large,
};

template <Fault F>
__device__ Normalizer start() {
  if (F == Fault::max_from_zero) return {0.0f, 0.0f};
  if (F == Fault::max_from_minus_5e4) return {-5e4f, 0.0f};
  return identity();
}

template <Fault F>
__device__ Normalizer merge(Normalizer a, Normalizer b) {
  if (F == Fault::no_rescale) return {fmaxf(a.m, b.m), a.d + b.d};
  if (F == Fault::no_identity_guard) {
    const float m = fmaxf(a.m, b.m);
    return {m, a.d * expf(a.m - m) + b.d * expf(b.m - m)};
  }
  if (F == Fault::rescale_inverted) {
    if (a.m == negative_infinity()) return b;
    if (b.m == negative_infinity()) return a;
    return a.m > b.m ? Normalizer{a.m, a.d + b.d * expf(a.m - b.m)}
                     : Normalizer{b.m, b.d + a.d * expf(b.m - a.m)};
  }
  return combine(a, b);
}

template <Fault F>
__device__ Normalizer reduce(Normalizer v) {
  ASSAY_SHARED(Normalizer, partial, kWarps);
  ASSAY_SHARED(Normalizer, total, 1);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto butterfly = [](Normalizer n) {
    for (int lanes = 16; lanes > (F == Fault::butterfly_short ? 1 : 0); lanes /= 2)
      n = merge<F>(n, shuffle_xor(n, lanes));
    return n;
  };
  v = butterfly(v);
  if (lane == 0) partial[warp] = v;
  if (F != Fault::no_barrier_before_merge) __syncthreads();
  if (warp == 0) {
    v = butterfly(lane < (F == Fault::first_warp_only ? 1 : kWarps) ? partial[lane] : identity());
    if (lane == 0) total[0] = v;
  }
  if (F == Fault::divergent_barrier) {
    if (warp == 0) __syncthreads();
  } else if (F != Fault::no_barrier_before_read) {
    __syncthreads();
  }
  return total[0];
}

template <Fault F, class T>
__global__ void mutant(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const std::int64_t count = F == Fault::last_rows_skipped ? logits.count / 2 * 2 : logits.count;
  for (std::int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const T* x = F == Fault::pitch_ignored ? logits.base + row * V : logits.row(row);
    T* p = probs.row(F == Fault::rows_swapped && (row ^ 1) < logits.count ? row ^ 1 : row);
    Normalizer n = start<F>();
    const std::int64_t summed = F == Fault::sum_skips_last       ? V - 1
                                : F == Fault::sum_reads_past_end ? V + 1
                                                                 : V;
    for (std::int64_t i = threadIdx.x; i < summed; i += kThreads) {
      n = merge<F>(n, leaf(to_float(x[i])));
      if (F == Fault::narrow_sum) n.d = to_float(from_float<bf16>(n.d));
    }
    if (F == Fault::slice_lost_from_maximum && threadIdx.x == 77 && V > 2000) n = identity();
    const float own = n.m;
    n = reduce<F>(n);
    float shift = n.m;
    if (F == Fault::own_lane_maximum) shift = own == negative_infinity() ? n.m : own;
    if (F == Fault::lane_zero_maximum) {
      // Every thread uses a sum and a maximum that fit together, but the maximum is that of lane 0's slice.
      const Normalizer zero{__shfl_sync(kAllLanes, own, 0), 0.0f};
      if (zero.m != negative_infinity()) {
        n.d = n.d * expf(n.m - zero.m);
        shift = zero.m;
      }
    }
    if (F == Fault::half_below_maximum) {
      shift = n.m - 0.5f;
      n.d = n.d * expf(0.5f);
    }
    if (F == Fault::divisor_off && threadIdx.x == 5) n.d = n.d * (1.0f + 1e-5f);
    if (F == Fault::sentinel_hides_nan && n.d != n.d) n = {0.0f, 1.0f};
    const std::int64_t written = F == Fault::write_skips_last  ? V - 1
                                 : F == Fault::writes_past_end ? V + 1
                                                               : V;
    for (std::int64_t i = threadIdx.x; i < written; i += kThreads) {
      const float xi = i < V ? to_float(x[i]) : 0.0f;
      float y = expf(xi - shift) / n.d;
      if (F == Fault::separate_products) {
        constexpr float log2e = 0x1.715476p+0f;
        y = exp2f(__fmul_rn(xi, log2e) - __fmul_rn(n.m, log2e)) / n.d;
      }
      if (F == Fault::reads_output) y = y + 0.0f * to_float(p[i]);
      if (F == Fault::all_zero) y = 0.0f;
      if (F == Fault::uniform) y = 1.0f / static_cast<float>(V);
      if (F == Fault::tail_too_large && V > 200 && V < 300 && V % 32 == 7 && i >= V - 7) y *= 1.001f;
      if (F == Fault::sentinel_hides_nan && xi != xi) y = 0.0f;
      p[i] = from_float<T>(y);
      if (F == Fault::inputs_overwritten && i == V / 2) const_cast<T*>(x)[i] = from_float<T>(y);
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

template <Fault F>
struct Softmax {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(mutant<F, T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};

template <Fault F, class T = f32>
bool plant(const char* id, const char* fault, const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Softmax<F>::op, Softmax<F>::claim, Softmax<F>::template run<T>,
                         expect);
}

constexpr const char* kRace = "on a GPU the hardware's own order seldom shows it; racecheck does";

const bool planted[] = {
    plant<Fault::none>("R01", "none", {"normal_1", 1025, ""}),
    plant<Fault::no_rescale>("M31", "no_rescale", {"normal_1", 129, "normalizer"}),
    plant<Fault::rescale_inverted>("M32", "rescale_inverted", {"normal_1", 129, "normalizer"}),
    plant<Fault::max_from_zero>("M03", "max_from_zero", {"far_below", 33, "element"}),
    plant<Fault::max_from_zero>("M03", "max_from_zero_near", {"all_negative", 129, "normalizer"}),
    plant<Fault::max_from_minus_5e4>("M06", "max_from_minus_5e4", {"far_below", 129, "normalizer"}),
    plant<Fault::no_identity_guard>("M35", "no_identity_guard", {"normal_1", 33, "element"}),
    plant<Fault::no_identity_guard>("M35", "no_identity_guard_masked", {"inf_thread", 1025, "element"}),
    plant<Fault::sum_skips_last>("M17", "sum_skips_last", {"normal_1", 129, "row_sum"}),
    plant<Fault::sum_reads_past_end>("M19", "sum_reads_past_end", {"normal_1", 4099, "row_sum"}),
    plant<Fault::sum_reads_past_end>("M19", "sum_reads_past_end_once", {"long_tail", 4099, "element"}),
    plant<Fault::write_skips_last>("X01", "write_skips_last", {"normal_1", 129, "written"}),
    plant<Fault::writes_past_end>("M21", "writes_past_end", {"normal_1", 129, "guard"}),
    plant<Fault::own_lane_maximum>("M11", "own_lane_maximum", {"lane_maxima", 1025, "element"}),
    plant<Fault::lane_zero_maximum>("X02", "lane_zero_maximum", {"normal_10", 4099, "coherence"}),
    plant<Fault::lane_zero_maximum>("X02", "lane_zero_maximum_far", {"lane_maxima", 1025, "element"}),
    plant<Fault::slice_lost_from_maximum>("X03", "slice_lost_from_maximum", {"spike", 4099, "element"}),
    plant<Fault::half_below_maximum>("X04", "half_below_maximum", {"normal_10", 4099, "coherence"}),
    plant<Fault::divisor_off>("X05", "divisor_off", {"normal_1", 4099, "coherence"}),
    plant<Fault::butterfly_short>("M29", "butterfly_short", {"normal_1", 129, "row_sum"}),
    plant<Fault::first_warp_only>("M30", "first_warp_only", {"normal_1", 129, "row_sum"}),
    plant<Fault::no_barrier_before_merge>("M77", "no_barrier_before_merge",
                                          {.check = "element", .only = "host", .why = kRace}),
    plant<Fault::no_barrier_before_read>("M77", "no_barrier_before_read", {"normal_1", 129, "repeat"}),
    plant<Fault::divergent_barrier>(
        "M80", "divergent_barrier",
        {.family = "normal_1", .V = 129, .check = "launch", .only = "host", .why = kUndefined}),
    plant<Fault::pitch_ignored>("M23", "pitch_ignored", {"normal_1", 129, "element"}),
    plant<Fault::rows_swapped>("M101", "rows_swapped", {"row_encoded", 129, "element"}),
    plant<Fault::inputs_overwritten>("C05", "inputs_overwritten", {"normal_1", 129, "inputs"}),
    plant<Fault::separate_products>("M52", "separate_products", {"shifted_1000", 1025, "coherence"}),
    plant<Fault::narrow_sum>("X06", "narrow_sum", {"constant", 128256, "row_sum"}),
    plant<Fault::narrow_sum, f16>("X06", "narrow_sum_f16", {"constant", 128256, "normalizer"}),
    plant<Fault::sentinel_hides_nan>("M73", "sentinel_hides_nan", {"nan", 33, "special"}),
    plant<Fault::last_rows_skipped>("M93", "last_rows_skipped", {"normal_1", 1025, "written"}),
    plant<Fault::reads_output>("M99", "reads_output", {"normal_1", 33, "element"}),
    plant<Fault::all_zero>("M121", "all_zero", {"normal_1", 4099, "element"}),
    plant<Fault::uniform>("M122", "uniform", {"normal_1", 4099, "element"}),
    // No length is given: the whole quick group must find these.
    plant<Fault::tail_too_large>("X56", "tail_too_large", {.check = "element", .group = "shapes"}),
    plant<Fault::tail_too_large, f16>("X56", "tail_too_large_f16", {.check = "element", .group = "shapes"}),
    plant<Fault::tail_too_large, bf16>("X56", "tail_too_large_bf16",
                                       {.check = "monotone", .group = "shapes"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
