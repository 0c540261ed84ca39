// SPDX-License-Identifier: Apache-2.0
// online_block: Algorithm 3 with one block per row. Each thread folds its chunks of the row into (m, d);
// warps, then the block, merge the partials with ⊕. Reads logits twice, 16 bytes at a time.
// Worst case seen: 66.03 ulp (f32@host), uniform_80, V = 128, rows = 4, seed 1: row 3, column 27.
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads, full_sm(kThreads))
    online_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    walk_chunks<kThreads>(x, V, threadIdx.x, [&](const auto& c) { fold_chunk<AccurateExp>(n, c); });
    n = block_reduce<Combine<AccurateExp>, kThreads>(folded(n));
    if (probs.base) {
      const RowDivisor by = row_divisor(n.d);
      write_row<kThreads>(x, probs.row(row), V, threadIdx.x, [&](auto& c) {
        for (float& xi : c.x) xi = expf(xi - n.m);
        divide_chunk<T>(c, by);
      });
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::reference;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .height =
            [](std::int64_t V) {
              const int threads = row_threads<T>(V);
              return chunk_share<T>(V, threads) + block_levels(threads);
            },
        .loads = 2,
        .stores = 1,
        .in_place = true,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    const int threads = row_threads<T>(call.V);
    call.block_per_row(
        threads == kRowThreads ? online_block<T, kRowThreads> : online_block<T, kRowThreads / 2>, threads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineBlock, "online_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
