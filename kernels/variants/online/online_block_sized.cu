// SPDX-License-Identifier: Apache-2.0
// online_block_sized: Algorithm 3 as the online softmax paper's benchmark runs it (NVIDIA/online-softmax): V
// / 8 threads a row, 32 to 256, scalar loads, __expf, and one approximate reciprocal a row. Reads logits
// twice. With +inf the source's answer depends on how many there are; here it is NaN everywhere.
// Worst case seen: 125.7 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 49239.
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T>
__global__ void __launch_bounds__(256)
    online_block_sized(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) n = combine<FastExp>(n, leaf(to_float(x[i])));
    n = sized_reduce<Combine<FastExp>>(n);
    if (probs.base) {
      T* p = probs.row(row);
      const float inverse = __fdividef(1.0f, n.d);
      for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x)
        p[i] = from_float<T>(__expf(to_float(x[i]) - n.m) * inverse);
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineBlockSized {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .exp = Exp::fast,
      // 1 / d is one reciprocal instruction, 1 ulp or 3 u; with the product's u inside 5 u.
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, paper_threads(V, 8)); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(online_block_sized<T>, paper_threads(call.V, 8));
  }
};
ASSAY_REGISTER_KERNEL(OnlineBlockSized, "online_block_sized", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
