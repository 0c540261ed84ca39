// SPDX-License-Identifier: Apache-2.0
// safe_block_half: Algorithm 2 with every operation in the 16-bit type of the logits: subtraction, exp, sum
// and division. It shows what narrow accumulation costs: an f16 sum of ones stops at 2048, a bf16 one at 256.
// Worst case seen: 125.2 ulp (bf16@host), constant, V = 128256, rows = 1, seed 1: row 0, column 0.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class H>
struct HalfSum {
  using T = H;
  __device__ __forceinline__ static H neutral() { return from_float<H>(0.0f); }
  __device__ __forceinline__ static H merge(H a, H b) { return __hadd(a, b); }
};
template <class H>
struct HalfMax {
  using T = H;
  __device__ __forceinline__ static H neutral() { return from_float<H>(negative_infinity()); }
  __device__ __forceinline__ static H merge(H a, H b) { return __hmax(a, b); }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    safe_block_half(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    T maximum = HalfMax<T>::neutral();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = __hmax(maximum, x[i]);
    maximum = block_reduce<HalfMax<T>, kThreads>(maximum);
    T sum = HalfSum<T>::neutral();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum = __hadd(sum, hexp(__hsub(x[i], maximum)));
    sum = block_reduce<HalfSum<T>, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = __hdiv(hexp(__hsub(x[i], maximum)), sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = to_float(maximum);
      d[row] = to_float(sum);
    }
  }
}

struct SafeBlockHalf {
  static constexpr Op op = Op::softmax;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::safe,
        .exp = Exp::half,
        .internals = DtypeOf<T>::value == Dtype::f16 ? Internals::f16 : Internals::bf16,
        .height = [](std::int64_t V) { return block_height(V, kThreads); },
        .judgeable_rows_only = true,
        .loads = 3,
        .stores = 1,
        .in_place = true,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(safe_block_half<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(SafeBlockHalf, "safe_block_half", f16, bf16);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
