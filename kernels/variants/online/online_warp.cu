// SPDX-License-Identifier: Apache-2.0
// online_warp: Algorithm 3 with one warp per row. Each lane folds its chunks into (m, d); a butterfly of ⊕
// merges the 32 partials. No shared memory and no block barrier. Reads logits twice, 16 bytes at a time.
// Worst case seen: 207.5 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 26644.
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kBlocksPerSm = 4;  // 64 registers: 4000 rows are 3.8 blocks for each SM of an H200
// Few warps share an SM: each keeps four accesses a lane in flight; where it writes, those of 64 bytes of
// floats, which is what its registers hold.
constexpr int kAhead = 4;
template <class T>
constexpr int kWriteAhead = sizeof(T) == 4 ? 4 : 2;

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    online_warp(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  // A warp's lanes share the row, so they leave the loop together.
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < logits.count; row += step) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    walk_chunks<32, kAhead>(x, V, lane, [&](const auto& c) { fold_chunk<AccurateExp>(n, c); });
    n = warp_reduce<Combine<AccurateExp>>(folded(n));
    if (probs.base) {
      const RowDivisor by = row_divisor(n.d);
      write_row<32, kWriteAhead<T>>(x, probs.row(row), V, lane, [&](auto& c) {
        for (float& xi : c.x) xi = expf(xi - n.m);
        divide_chunk<T>(c, by);
      });
    }
    if (m && lane == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineWarp {
  static constexpr Op op = Op::softmax;
  static constexpr Pace pace = Pace::reference;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .height = [](std::int64_t V) { return chunk_share<T>(V, 32) + 5; },
        .loads = 2,
        .stores = 1,
        .in_place = true,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    call.warp_per_row(online_warp<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(OnlineWarp, "online_warp", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
