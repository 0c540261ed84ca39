// SPDX-License-Identifier: Apache-2.0
// Faults of arithmetic: of one number, and of the sum.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

// Faults of arithmetic: an exp, a division or a store that differs from the claim. Safe softmax, one block
// per row; the fault is where the number is computed.
namespace rounding {

constexpr int kThreads = 128;

enum class Fault {
  none,
  cubic_exp,
  short_log2e,
  exp_never_below,
  flushes_outputs,
  rounds_between,
  truncates,
  sum_of_halves,
  minus_zero,
  masked_is_tiny,
  clamps_outputs,
  divisor_has_epsilon,
  one_is_below_one,
  infinity_wins,
  all_masked_is_zero,
  nan_stays_alone,
  maximum_rounded,
  mean_not_sum,
  narrow_exp,
  ulp_above_one,
};

/// 2^n times a cubic polynomial of the fraction, accurate to 1e-4.
__device__ float cubic_exp(float t) {
  const float z = fmaxf(t * kLog2e, -126.0f);
  const float n = floorf(z), g = z - n;
  const float p = 1.0f + g * (0.695557f + g * (0.226173f + g * 0.0780245f));
  return t == negative_infinity() ? 0.0f : p * __int_as_float((static_cast<int>(n) + 127) << 23);
}

template <class T>
__device__ float own_exp(Fault f, float t) {
  if (f == Fault::cubic_exp) return cubic_exp(t);
  if (f == Fault::short_log2e) return exp2f(t * 1.4427f);
  if (f == Fault::exp_never_below) return expf(fmaxf(t, -64.0f));
  if (f == Fault::rounds_between) return to_float(from_float<T>(expf(t)));
  if (f == Fault::narrow_exp) return to_float(from_float<f16>(expf(t)));
  return expf(t);
}

/// Rounds toward zero instead of to nearest.
template <class T>
__device__ T truncated(float y) {
  const T nearest = from_float<T>(y);
  if (!(to_float(nearest) > y)) return nearest;
  const int bits = __float_as_int(y);
  return from_float<T>(__int_as_float(bits & (DtypeOf<T>::value == Dtype::f16 ? ~0x1fff : ~0xffff)));
}

template <class T>
__global__ void rounding_softmax(Fault f, Rows<const T> logits, Rows<T> probs, float* m, float* d,
                                 std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kThreads>(maximum);
    if (f == Fault::maximum_rounded) maximum = to_float(from_float<bf16>(maximum));
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      sum += own_exp<T>(f, to_float(x[i]) - maximum);
      if (f == Fault::sum_of_halves) sum = to_float(from_float<f16>(sum));
    }
    sum = block_reduce<Sum, kThreads>(sum);
    float divisor = sum;
    if (f == Fault::divisor_has_epsilon) divisor += 1e-6f;
    if (f == Fault::mean_not_sum) divisor /= static_cast<float>(V);
    T* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      float y = own_exp<T>(f, xi - maximum) / divisor;
      if (f == Fault::rounds_between)
        y = own_exp<T>(f, xi - maximum) * to_float(from_float<T>(1.0f / divisor));
      if (f == Fault::flushes_outputs && y < 0x1p-126f) y = 0.0f;
      if (f == Fault::minus_zero && y == 0.0f) y = -0.0f;
      if (f == Fault::masked_is_tiny && xi == negative_infinity()) y = 1e-30f;
      if (f == Fault::clamps_outputs) y = fmaxf(y, 1e-7f);
      if (f == Fault::one_is_below_one && V == 1) y = 0x1.fffffep-1f;
      if (f == Fault::ulp_above_one && y == 1.0f) y = 0x1.000002p+0f;
      if (f == Fault::infinity_wins && maximum == positive_infinity()) y = xi == maximum ? 1.0f : 0.0f;
      if (f == Fault::all_masked_is_zero && maximum == negative_infinity()) y = 0.0f;
      if (f == Fault::nan_stays_alone && sum != sum) y = xi != xi ? xi : 0.0f;
      p[i] = f == Fault::truncates ? truncated<T>(y) : from_float<T>(y);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

constexpr Claim kClaim{
    .algorithm = Algorithm::safe,
    .height = [](std::int64_t V) { return block_height(V, kThreads); },
    .loads = 3,
    .stores = 1,
};

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Op::softmax, kClaim,
                         softmax_by(rounding_softmax<T>, kThreads, f), expect);
}

const bool planted[] = {
    plant("R13", "rounding_none", Fault::none, {"subnormal_out", 1025, ""}),
    plant<f16>("R13", "rounding_none_f16", Fault::none, {"normal_1", 1025, ""}),
    plant<bf16>("R13", "rounding_none_bf16", Fault::none, {"normal_1", 1025, ""}),
    plant("M54", "cubic_exp", Fault::cubic_exp, {"normal_1", 129, "element"}),
    plant("X25", "short_log2e", Fault::short_log2e, {"normal_10", 129, "element"}),
    plant("X26", "exp_never_below", Fault::exp_never_below, {"uniform_80", 129, "element"}),
    plant("M57", "flushes_outputs", Fault::flushes_outputs, {"subnormal_out", 129, "element"}),
    plant<f16>("M63", "rounds_between_f16", Fault::rounds_between, {"normal_1", 1025, "element"}),
    plant<bf16>("M63", "rounds_between_bf16", Fault::rounds_between, {"normal_1", 1025, "element"}),
    plant<f16>("X27", "truncates_f16", Fault::truncates, {"normal_1", 129, "element"}),
    plant<bf16>("X27", "truncates_bf16", Fault::truncates, {"normal_1", 129, "element"}),
    plant<f16>("M60", "sum_of_halves_f16", Fault::sum_of_halves, {"normal_1", 4099, "normalizer"}),
    plant("M60", "sum_of_halves", Fault::sum_of_halves, {"normal_1", 1025, "element"}),
    plant("X28", "minus_zero", Fault::minus_zero, {"inf_vector", 33, "range"}),
    plant("X29", "masked_is_tiny", Fault::masked_is_tiny, {"inf_vector", 33, "special"}),
    plant("X30", "clamps_outputs", Fault::clamps_outputs, {"normal_10", 129, "element"}),
    plant("X31", "divisor_has_epsilon", Fault::divisor_has_epsilon, {"spike", 129, "row_sum"}),
    plant("X32", "one_is_below_one", Fault::one_is_below_one, {"normal_1", 1, "special"}),
    plant("A36", "infinity_wins", Fault::infinity_wins, {"pos_inf", 33, "special"}),
    plant("A14", "all_masked_is_zero", Fault::all_masked_is_zero, {"all_neg_inf", 33, "special"}),
    plant("A35", "nan_stays_alone", Fault::nan_stays_alone, {"nan", 33, "special"}),
    plant("X33", "maximum_rounded", Fault::maximum_rounded, {"normal_10", 129, "normalizer"}),
    plant("X34", "mean_not_sum", Fault::mean_not_sum, {"normal_1", 129, "row_sum"}),
    plant("C18", "narrow_exp", Fault::narrow_exp, {"normal_1", 1025, "element"}),
    plant("X35", "ulp_above_one", Fault::ulp_above_one, {"spike", 33, "range"}),
};

}  // namespace rounding

// Faults of the sum that are no larger than the error allowed to a serial sum of a vocabulary's length.
// Nothing is declared, so the suite must measure the sum to see them. One kernel: each thread sums its share,
// then a tree.
namespace sums {

constexpr int kThreads = 256;

enum class SumFault { none, lost_share, not_rescaled, bf16_exps, bf16_sum, far_terms };

__device__ float truncated_to_bf16(float e) { return __uint_as_float(__float_as_uint(e) & 0xffff0000u); }

template <class T>
__global__ void block_sum(SumFault fault, Rows<const T> logits, Rows<T> probs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float own = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) own = fmaxf(own, to_float(x[i]));
    const float m = block_reduce<Max, kThreads>(own);
    const bool odd_one = threadIdx.x == 77;
    const float reference = fault == SumFault::not_rescaled && odd_one ? own : m;
    float sum = 0.0f, running = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      // avoids (-inf) - (-inf) in a row or share of only -inf
      float e = xi == negative_infinity() && m != negative_infinity() ? 0.0f : expf(xi - reference);
      running = fmaxf(running, xi);
      if (fault == SumFault::lost_share && odd_one) e = 0.0f;
      if (fault == SumFault::bf16_exps) e = truncated_to_bf16(e);
      if (fault == SumFault::far_terms && xi < running - 10.0f) e = 0.0f;
      sum += e;
    }
    sum = block_reduce<Sum, kThreads>(sum);
    if (fault == SumFault::bf16_sum) sum = to_float(from_float<bf16>(sum));
    T* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
      p[i] = from_float<T>(expf(to_float(x[i]) - m) / sum);
  }
}

template <class T>
bool plant(const char* id, const char* fault, SumFault f, const char* family, std::int64_t V) {
  Expect e;
  e.family = family;
  e.V = V;
  e.rows = 3;
  // Another order of additions may lose as much as these far terms: nothing proves that they are left out.
  e.check = f == SumFault::far_terms ? kBeyondMeasured : "element";
  // If a measurement of the sum refutes the kernel, that check is reported first.
  e.or_check = "row_sum";
  e.declaration = "";
  return plant_kernel<T>(
      id, fault, __FILE__, Op::softmax, Claim{},
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(block_sum<T>, grid_for(p.rows, s), kThreads, 0, s, f, logits_of<T>(p, b), values_of<T>(p, b),
               p.V);
      },
      e);
}

/// The same kernel without a fault.
template <class T>
bool plant_right(const char* fault) {
  Expect e;
  e.family = "";
  e.declaration = "";
  return plant_kernel<T>(
      "R41", fault, __FILE__, Op::softmax, Claim{},
      [](const Problem& p, const Buffers& b, const Stream& s) {
        launch(block_sum<T>, grid_for(p.rows, s), kThreads, 0, s, SumFault::none, logits_of<T>(p, b),
               values_of<T>(p, b), p.V);
      },
      e);
}

constexpr std::int64_t kVocabulary = 128256, kShort = 4099;

const bool planted[] = {
    plant<f32>("X60", "share_lost_long", SumFault::lost_share, "normal_1", kVocabulary),
    plant<f16>("X60", "share_lost_f16", SumFault::lost_share, "normal_1", kShort),
    plant<bf16>("X60", "share_lost_bf16", SumFault::lost_share, "normal_1", kShort),
    plant<f32>("X60", "share_lost", SumFault::lost_share, "normal_1", kShort),
    plant<f32>("X61", "share_not_rescaled_long", SumFault::not_rescaled, "normal_1", kVocabulary),
    plant<bf16>("X61", "share_not_rescaled_bf16", SumFault::not_rescaled, "normal_1", kShort),
    plant<f32>("X61", "share_not_rescaled", SumFault::not_rescaled, "normal_1", kShort),
    plant<f32>("X62", "exps_truncated_long", SumFault::bf16_exps, "normal_1", kVocabulary),
    plant<bf16>("X62", "exps_truncated_bf16", SumFault::bf16_exps, "normal_1", kShort),
    plant<f32>("X62", "exps_truncated", SumFault::bf16_exps, "normal_1", kShort),
    plant<f32>("X64", "far_terms_left_out", SumFault::far_terms, "normal_3", kVocabulary),
    plant<f32>("X63", "sum_stored_as_bf16", SumFault::bf16_sum, "normal_1", kShort),
    plant_right<f32>("right_block_sum_undeclared"),
    plant_right<f16>("right_block_sum_f16_undeclared"),
    plant_right<bf16>("right_block_sum_bf16_undeclared"),
};

}  // namespace sums

}  // namespace
}  // namespace assay::ASSAY_BACKEND
