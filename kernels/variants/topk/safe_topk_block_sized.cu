// SPDX-License-Identifier: Apache-2.0
// safe_topk_block_sized: safe softmax fused with top-k as the online softmax paper's benchmark runs it
// (NVIDIA/online-softmax): V / 16 threads a row, 32 to 256, each thread's list in registers, __expf, one
// approximate reciprocal a row. Ties go to the smaller index, which the source leaves to its merge. Reads
// logits twice.
// Worst case seen: 86.92 ulp (f32@host), uniform_80, V = 63, rows = 4, k = 63, seed 1: row 0, column 7.
#include "kernels/building_blocks/register_topk.cuh"
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T, int K>
__global__ void __launch_bounds__(256)
    safe_topk_block_sized(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k,
                          bool wide, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = sized_reduce<Max>(maximum);
    RegisterList<K> list;
    list.clear();
    float sum = 0.0f;
    int turn = 0;
    four_ahead(x, V, [&](float xi) {
      sum += __expf(xi - maximum);
      list.insert(xi, turn++);
    });
    sum = sized_reduce<Sum>(sum);
    if (values.base) {
      const float inverse = __fdividef(1.0f, sum);
      T* v = values.row(row);
      write_best_of(list, k, indices, row * values.pitch, wide, [=](int slot, long long i) {
        v[slot] = from_float<T>(i < 0 ? 0.0f : __expf(to_float(x[i]) - maximum) * inverse);
      });
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeTopkBlockSized {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .exp = Exp::fast,
      // 1 / sum is one reciprocal instruction, 1 ulp or 3 u; with the product's u inside 5 u.
      .division = Division::approximate,
      .height = [](std::int64_t V) { return block_height(V, paper_threads(V, 16)); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 2,
      .stores = 0,
  };
  template <class T>
  static void run(const Call<T>& call) {
    with_list(call.k,
              [&](auto K) { call.block_per_row(safe_topk_block_sized<T, K()>, paper_threads(call.V, 16)); });
  }
};
ASSAY_REGISTER_KERNEL(SafeTopkBlockSized, "safe_topk_block_sized", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
