// SPDX-License-Identifier: Apache-2.0
// lazy_block: Algorithm 3 that rescales late, as FlashAttention-4 does (there by 2^8). A thread's sum refers
// to a logit up to kThreshold nats below its maximum, so most elements cost one exp and no rescale; the sum
// is moved to the row's maximum at the end. Reads logits twice.
// Worst case seen: 66.83 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 55891.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;
constexpr float kThreshold = 0x1.62e430p+2f;  // 8 ln 2

template <class T>
__global__ void __launch_bounds__(kThreads)
    lazy_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();  // m: the logit the sum refers to
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      if (xi == negative_infinity()) continue;
      maximum = fmaxf(maximum, xi);
      if (!(xi - n.m <= kThreshold)) n = {xi, n.d * expf(n.m - xi)};  // also the first, +inf and NaN
      n.d += expf(xi - n.m);
    }
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    maximum = block_reduce<Max, kThreads>(maximum);
    if (n.m != maximum) n = {maximum, n.d * expf(n.m - maximum)};
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct LazyBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .rescale_threshold = static_cast<double>(kThreshold),
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(lazy_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(LazyBlock, "lazy_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
