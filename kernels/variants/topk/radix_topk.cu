// SPDX-License-Identifier: Apache-2.0
// radix_topk: softmax and the k largest logits for any k, one block a row, by radix selection and radix sort.
// Reads logits once for (m, d) and the first digit, once for each further digit (8 bits), and once to
// collect.
// Worst case seen: 56.51 ulp (f32@host), uniform_80, V = 32, rows = 4, k = 32, seed 1: row 1, column 17.
#include "kernels/building_blocks/radix.cuh"
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/building_blocks/row_write.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

template <class T>
__global__ void __launch_bounds__(kRadixThreads)
    radix_topk(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k, bool wide,
               std::int64_t V, RadixPlace place) {
  ASSAY_SHARED(RadixShared, radix, 1);
  RadixShared& shared = radix[0];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    clear_counts(shared);
    walk_chunks<kRadixThreads>(x, V, thread, [&](const auto& c) {
      fold_chunk<AccurateExp>(n, c);
      for (const float xi : c.x) count_digit(ascending_rank(xi) >> 24, shared);
    });
    n = block_reduce<Combine<AccurateExp>, kRadixThreads>(folded(n));
    if (m && thread == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
    if (!values.base) continue;
    const Ordered o = best_of_row(x, V, k, place, shared);
    const RowDivisor by = row_divisor(n.d);
    for (int slot = thread; slot < k; slot += kRadixThreads) {
      const bool none = slot >= o.count;
      const std::int64_t column = none ? -1 : o.best[slot].column;
      Chunk<1> c = single(none ? 0.0f : expf(to_float(x[column]) - n.m));
      if (!none) divide_chunk<T>(c, by);
      store_index(indices, row * values.pitch + slot, column, wide);
      values.row(row)[slot] = from_float<T>(c.x[0]);
    }
    __syncthreads();  // the sorted elements have been read
  }
}

struct RadixTopk {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = 1 << 17;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .height =
            [](std::int64_t V) { return chunk_share<T>(V, kRadixThreads) + block_levels(kRadixThreads); },
        .select = Select::logits,
        .ties = Ties::smaller_index,
        .loads = kRankDigits<T> + 1,
        .stores = 0,
    };
  }
  static std::int64_t room(const Problem& p) { return std::min<std::int64_t>(p.k, p.V); }
  static std::size_t workspace_bytes(const Problem& p) { return radix_bytes(p.rows, room(p)); }
  template <class T>
  static void run(const Call<T>& c) {
    const RadixPlace place{static_cast<RankedColumn*>(c.buffers.workspace), room(c.problem)};
    launch(radix_topk<T>, std::min<unsigned>(c.blocks(), kMostRadixBlocks), kRadixThreads, 0, c.stream,
           c.logits, c.probs, c.buffers.indices, c.m, c.d, c.k, c.wide, c.V, place);
  }
};
ASSAY_REGISTER_KERNEL(RadixTopk, "radix_topk", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
