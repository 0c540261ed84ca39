// SPDX-License-Identifier: Apache-2.0
// Faults of the sum that are no larger than the error allowed to a serial sum of a vocabulary's length.
// Nothing is declared, so the suite must measure the sum to see them. One kernel: each thread sums its share,
// then a tree.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

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
  e.check = "element";
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

}  // namespace
}  // namespace assay::ASSAY_BACKEND
