// SPDX-License-Identifier: Apache-2.0
// register_float4_warp: safe softmax with one warp per row, the row in registers as float4, butterfly
// shuffles, no shared memory: one read and one write, as long as the registers last. Kernel 3 of the blog
// "softmax with CUDA worklog, part 1" (f32). One instance each for rows up to 1024, 2048, 4096 and 8192, of
// which the last needs more than the 255 registers a thread can have; longer rows are read three times.
// Worst case seen: 207.5 ulp (f32@host), long_tail, V = 128256, rows = 1, seed 1: row 0, column 26644.
#include "kernels/building_blocks/packs.cuh"
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr std::int64_t kLongestInRegisters = 8192;

/// Elements at ... at + 3; -inf, which changes neither maximum nor sum, past the end.
__device__ __forceinline__ Pack load_or_pad(const float* x, std::int64_t at, std::int64_t V, bool aligned) {
  if (at + kPack <= V) return load_pack(x + at, aligned);
  Pack p;
  for (int c = 0; c < kPack; ++c) p.e[c] = at + c < V ? x[at + c] : negative_infinity();
  return p;
}
__device__ __forceinline__ void store_inside(float* p, std::int64_t at, std::int64_t V, Pack of,
                                             bool aligned) {
  if (at + kPack <= V) {
    store_pack(p + at, of, aligned);
  } else {
    for (int c = 0; c < kPack; ++c)
      if (at + c < V) p[at + c] = of.e[c];
  }
}

/// Blocks that shall fit on a multiprocessor at once. Left alone, ptxas spends registers on exps under way:
/// 96 and 176 for 32 and 64 floats a lane, where 64 and 128 are enough.
constexpr int blocks_for(int packs) { return packs <= 8 ? 8 : packs <= 16 ? 4 : packs <= 32 ? 2 : 1; }

/// Rows of up to 128 kPacks elements, kPacks float4 a lane.
template <int kPacks>
__global__ void __launch_bounds__(kThreads, blocks_for(kPacks))
    rows_in_registers(Rows<const float> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  // A warp's lanes share the row, so they leave the loop together.
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < logits.count; row += step) {
    const float* x = logits.row(row);
    float* p = probs.base ? probs.row(row) : nullptr;
    const bool aligned = pack_aligned(x) && pack_aligned(p);
    Pack of[kPacks];
    float maximum = negative_infinity();
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      of[j] = load_or_pad(x, (lane + 32 * j) * kPack, V, aligned);
#pragma unroll
      for (int c = 0; c < kPack; ++c) maximum = fmaxf(maximum, of[j].e[c]);
    }
    maximum = warp_reduce<Max>(maximum);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kPacks; ++j)
#pragma unroll
      for (int c = 0; c < kPack; ++c) {
        of[j].e[c] = expf(of[j].e[c] - maximum);
        sum += of[j].e[c];
      }
    sum = warp_reduce<Sum>(sum);
    if (p) {
#pragma unroll
      for (int j = 0; j < kPacks; ++j) {
#pragma unroll
        for (int c = 0; c < kPack; ++c) of[j].e[c] /= sum;
        store_inside(p, (lane + 32 * j) * kPack, V, of[j], aligned);
      }
    }
    if (m && lane == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

/// Rows of any length, the same elements to the same lanes.
__global__ void __launch_bounds__(kThreads)
    rows_in_memory(Rows<const float> logits, Rows<float> probs, float* m, float* d, std::int64_t V) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < logits.count; row += step) {
    const float* x = logits.row(row);
    float* p = probs.base ? probs.row(row) : nullptr;
    const bool aligned = pack_aligned(x) && pack_aligned(p);
    float maximum = negative_infinity();
    for (std::int64_t at = lane * kPack; at < V; at += 32 * kPack) {
      const Pack of = load_or_pad(x, at, V, aligned);
      for (int c = 0; c < kPack; ++c) maximum = fmaxf(maximum, of.e[c]);
    }
    maximum = warp_reduce<Max>(maximum);
    float sum = 0.0f;
    for (std::int64_t at = lane * kPack; at < V; at += 32 * kPack) {
      const Pack of = load_or_pad(x, at, V, aligned);
      for (int c = 0; c < kPack; ++c) sum += expf(of.e[c] - maximum);
    }
    sum = warp_reduce<Sum>(sum);
    if (p)
      for (std::int64_t at = lane * kPack; at < V; at += 32 * kPack) {
        Pack of = load_or_pad(x, at, V, aligned);
        for (int c = 0; c < kPack; ++c) of.e[c] = expf(of.e[c] - maximum) / sum;
        store_inside(p, at, V, of, aligned);
      }
    if (m && lane == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct RegisterFloat4Warp {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return ceil_div(V, 32 * kPack) * kPack + 5; },
      .loads = [](std::int64_t V) { return V <= kLongestInRegisters ? 1 : 3; },
      .stores = 1,
      .in_place = true,
  };
  static void run(const Call<f32>& call) {
    const auto kernel = call.V <= 1024                  ? rows_in_registers<8>
                        : call.V <= 2048                ? rows_in_registers<16>
                        : call.V <= 4096                ? rows_in_registers<32>
                        : call.V <= kLongestInRegisters ? rows_in_registers<64>
                                                        : rows_in_memory;
    call.warp_per_row(kernel, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(RegisterFloat4Warp, "register_float4_warp", f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
