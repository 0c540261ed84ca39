// SPDX-License-Identifier: Apache-2.0
// naive_block: the paper's Algorithm 1 (arXiv 1805.02867), one block per row. No maximum is subtracted: the
// sum overflows once the row's lse passes 88.7, and underflows far below zero. Reads logits twice, 16 bytes
// at a time.
// Worst case seen: 20.16 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 31401.
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads, full_sm(kThreads))
    naive_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float sum = 0.0f;
    walk_chunks<kThreads>(x, V, threadIdx.x, [&](const auto& c) {
      for (const float xi : c.x) sum += expf(xi);
    });
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      const RowDivisor by = row_divisor(sum);
      write_row<kThreads>(x, probs.row(row), V, threadIdx.x, [&](auto& c) {
        for (float& xi : c.x) xi = expf(xi);
        divide_chunk<T>(c, by);
      });
    }
    if (m && threadIdx.x == 0) {
      m[row] = 0.0f;  // the shift that was applied: none
      d[row] = sum;
    }
  }
}

struct NaiveBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::reference;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::naive,
        .shift = Shift::none,
        .height =
            [](std::int64_t V) {
              const int threads = row_threads<T>(V);
              return chunk_share<T>(V, threads) + block_levels(threads);
            },
        .policy = {.pos_inf = PosInfRows::inf_only},
        .loads = 2,
        .stores = 1,
        .in_place = true,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    const int threads = row_threads<T>(call.V);
    call.block_per_row(threads == kRowThreads ? naive_block<T, kRowThreads> : naive_block<T, kRowThreads / 2>,
                       threads);
  }
};
ASSAY_REGISTER_KERNEL(NaiveBlock, "naive_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
