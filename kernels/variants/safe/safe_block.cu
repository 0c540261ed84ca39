// SPDX-License-Identifier: Apache-2.0
// safe_block: the paper's Algorithm 2, one block per row: maximum, then sum, then output. Reads logits
// three times, 16 bytes at a time; the same exp(x - m) serves the sum and the output.
// Worst case seen: 65.78 ulp (f32@host), normal_10, V = 128256, rows = 1, seed 1: row 0, column 9722.
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads, full_sm(kThreads))
    safe_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    walk_row<kThreads>(x, V, threadIdx.x, [&](const auto& c) { maximum = fmaxf(maximum, c.largest); });
    maximum = block_reduce<Max, kThreads>(maximum);
    float sum = 0.0f;
    walk_chunks<kThreads>(x, V, threadIdx.x, [&](const auto& c) {
      for (const float xi : c.x) sum += expf(xi - maximum);
    });
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      const RowDivisor by = row_divisor(sum);
      write_row<kThreads>(x, probs.row(row), V, threadIdx.x, [&](auto& c) {
        for (float& xi : c.x) xi = expf(xi - maximum);
        divide_chunk<T>(c, by);
      });
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SafeBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::reference;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::safe,
        .height =
            [](std::int64_t V) {
              const int threads = row_threads<T>(V);
              return chunk_share<T>(V, threads) + block_levels(threads);
            },
        .loads = 3,
        .stores = 1,
        .in_place = true,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    const int threads = row_threads<T>(call.V);
    call.block_per_row(threads == kRowThreads ? safe_block<T, kRowThreads> : safe_block<T, kRowThreads / 2>,
                       threads);
  }
};
ASSAY_REGISTER_KERNEL(SafeBlock, "safe_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
