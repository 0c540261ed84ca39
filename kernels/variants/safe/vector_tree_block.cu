// SPDX-License-Identifier: Apache-2.0
// vector_tree_block: safe softmax in three passes over float4, one block per row, reductions by trees in
// shared memory: maximum; exp(x - m) into the output and summed; read back and divided. 512 threads, 1024
// from V > 14080. Kernel 4 of Saman's blog "Fused Softmax, part 3: CUDA kernel" (f32). 5 accesses an element.
// Worst case seen: 64.91 ulp (f32@host), normal_10, V = 128256, rows = 1, seed 1: row 0, column 50236.
#include "kernels/building_blocks/packs.cuh"
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kMostThreads = 1024;
constexpr int threads_for(std::int64_t V) { return V > 14080 ? kMostThreads : threads_to_cover(V, 512); }

__global__ void __launch_bounds__(kMostThreads)
    vector_tree_block(Rows<const float> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  // One array each: the other's barriers lie between two uses of one.
  ASSAY_SHARED(float, of_max, kMostThreads);
  ASSAY_SHARED(float, of_sum, kMostThreads);
  const std::int64_t packs = V / kPack;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const float* x = logits.row(row);
    float* p = probs.base ? probs.row(row) : nullptr;
    const bool aligned = pack_aligned(x) && pack_aligned(p);
    const std::int64_t tail = packs * kPack + threadIdx.x;  // one of the last V % 4 elements, if below V
    float maximum = negative_infinity();
    for (std::int64_t q = threadIdx.x; q < packs; q += blockDim.x) {
      const Pack of = load_pack(x + q * kPack, aligned);
      for (int c = 0; c < kPack; ++c) maximum = fmaxf(maximum, of.e[c]);
    }
    if (tail < V) maximum = fmaxf(maximum, x[tail]);
    maximum = tree_reduce<Max>(maximum, of_max);
    float sum = 0.0f;
    for (std::int64_t q = threadIdx.x; q < packs; q += blockDim.x) {
      Pack of = load_pack(x + q * kPack, aligned);
      for (int c = 0; c < kPack; ++c) {
        of.e[c] = expf(of.e[c] - maximum);
        sum += of.e[c];
      }
      if (p) store_pack(p + q * kPack, of, aligned);
    }
    if (tail < V) {
      const float numerator = expf(x[tail] - maximum);
      sum += numerator;
      if (p) p[tail] = numerator;
    }
    sum = tree_reduce<Sum>(sum, of_sum);
    if (p) {
      for (std::int64_t q = threadIdx.x; q < packs; q += blockDim.x) {
        Pack of = load_pack(p + q * kPack, aligned);
        for (int c = 0; c < kPack; ++c) of.e[c] /= sum;
        store_pack(p + q * kPack, of, aligned);
      }
      if (tail < V) p[tail] /= sum;
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct VectorTreeBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) -> std::int64_t {
        return tree_height(pack_turns(V, threads_for(V)), threads_for(V));
      },
      .loads = 3,
      .stores = 2,
      .in_place = true,
  };
  static void run(const Call<f32>& call) { call.block_per_row(vector_tree_block, threads_for(call.V)); }
};
ASSAY_REGISTER_KERNEL(VectorTreeBlock, "vector_tree_block", f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
