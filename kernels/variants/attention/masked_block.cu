// SPDX-License-Identifier: Apache-2.0
// masked_block: the softmax of attention and of sampling, one block a row: z = scale x + bias in one fma,
// -inf where the mask holds 0 or a row's length is passed; maximum, sum, output, each from the inputs again.
// A row with nothing left gives zeros. Operands that a call does not have are neutral.
// Worst case seen: 65.93 ulp (f32@host), normal_10, V = 50257, rows = 1, seed 1: row 0, column 10350.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

/// The operands of one row.
template <class T>
struct RowOperands {
  const unsigned char* mask;
  const T* bias;
  std::int64_t length;
  float scale;

  __device__ float logit(const T* x, std::int64_t i) const {
    if (i >= length || (mask && mask[i] == 0)) return negative_infinity();
    return fmaf(scale, to_float(x[i]), bias ? to_float(bias[i]) : 0.0f);
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    masked_block(Rows<const T> logits, Rows<const unsigned char> masks, Rows<const T> biases,
                 const int* lengths, float scale, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    const RowOperands<T> with{masks.base ? masks.row(row) : nullptr, biases.base ? biases.row(row) : nullptr,
                              lengths ? lengths[row] : V, scale};
    float maximum = negative_infinity();
    bool any_nan = false;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float z = with.logit(x, i);
      any_nan = any_nan || z != z;
      maximum = fmaxf(maximum, z);
    }
    maximum = block_reduce<Max, kThreads>(maximum);
    any_nan = block_reduce<Max, kThreads>(any_nan ? 1.0f : 0.0f) > 0;
    const bool nothing_left = maximum == negative_infinity() && !any_nan;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(with.logit(x, i) - maximum);
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(nothing_left ? 0.0f : expf(with.logit(x, i) - maximum) / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct MaskedBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .logits = LogitRounding::fma,
      .policy = {.all_neg_inf = NegInfRows::zero},
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static constexpr Operands operands_for() {
    return {.parts = operand::scale | operand::mask_keep | operand::bias | operand::lengths,
            .bias = DtypeOf<T>::value};
  }
  template <class T>
  static void run(const Call<T>& call) {
    const Buffers& b = call.buffers;
    launch(masked_block<T>, call.blocks(), kThreads, 0, call.stream, call.logits,
           call.template like_logits<unsigned char>(b.mask), call.template like_logits<T>(b.bias),
           static_cast<const int*>(b.lengths), call.problem.scale, call.probs, call.m, call.d, call.V);
  }
};
ASSAY_REGISTER_KERNEL(MaskedBlock, "masked_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
