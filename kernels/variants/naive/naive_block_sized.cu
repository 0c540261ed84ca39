// SPDX-License-Identifier: Apache-2.0
// naive_block_sized: Algorithm 1 as the online softmax paper's benchmark runs it (NVIDIA/online-softmax): V /
// 8 threads a row, 32 to 256, scalar loads, __expf, and one approximate reciprocal a row. Reads logits twice.
// Worst case seen: 78.17 ulp (f32@host), normal_10, V = 32000, rows = 1, seed 1: row 0, column 19125.
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

static_assert(paper_threads(0, 8) == 32 && paper_threads(511, 8) == 32 && paper_threads(512, 8) == 64 &&
              paper_threads(1024, 8) == 128 && paper_threads(2048, 8) == 256 &&
              paper_threads(2048, 16) == 128 && paper_threads(1 << 20, 16) == 256);

template <class T>
__global__ void __launch_bounds__(256)
    naive_block_sized(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) sum += __expf(to_float(x[i]));
    sum = sized_reduce<Sum>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      const float inverse = __fdividef(1.0f, sum);
      for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x)
        p[i] = from_float<T>(__expf(to_float(x[i])) * inverse);
    }
    if (m && threadIdx.x == 0) {
      m[row] = 0.0f;  // the shift that was applied: none
      d[row] = sum;
    }
  }
}

struct NaiveBlockSized {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::naive,
      .shift = Shift::none,
      .exp = Exp::fast,
      // 1 / sum is one reciprocal instruction, 1 ulp or 3 u; with the product's u inside 5 u.
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, paper_threads(V, 8)); },
      .policy = {.pos_inf = PosInfRows::inf_only},
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(naive_block_sized<T>, paper_threads(call.V, 8));
  }
};
ASSAY_REGISTER_KERNEL(NaiveBlockSized, "naive_block_sized", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
