// SPDX-License-Identifier: Apache-2.0
// topk_block: the k largest logits of a row and their positions, one block per row. Every thread keeps a
// sorted list of its strided slice; the block merges the lists in k rounds. Reads logits once.
// Worst case seen: none: its outputs are logits, bit for bit.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

template <class T>
__global__ void __launch_bounds__(kThreads)
    topk_block(Rows<const T> logits, Rows<T> values, void* indices, int k, bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    list.clear(k);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) list.insert(to_float(x[i]), i, k);
    write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide,
                         [x](long long i) { return x[i]; });
  }
}

struct TopkBlock {
  static constexpr Op op = Op::topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .height = nullptr,  // nothing is summed
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 1,
      .stores = 0,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(topk_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(TopkBlock, "topk_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
