// SPDX-License-Identifier: Apache-2.0
// fragment_tree_block: one-pass softmax with 512 threads a row, each with its elements in a register
// fragment: a thread's (m, d) from its registers with a fast exp, then a ⊕ tree in shared memory in the
// symmetric form, two exps a merge. After a blog's online softmax in the CuTe DSL (CUTLASS 4, f32, V a
// multiple of 512). One read and one write up to V = 8192; longer rows are folded in chunk by chunk and read
// again for the output.
// Worst case seen: 124.5 ulp (f32@host), uniform_80, V = 128256, rows = 1, seed 1: row 0, column 19886.
#include "kernels/building_blocks/sized_reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kMostThreads = 512;
constexpr int kLargestFragment = 16;

/// a ⊕ b with both sides rescaled; exp(0) is 1, so that the side with the maximum is unchanged. A maximum of
/// -inf is not subtracted: (-inf) - (-inf) would be NaN.
struct TwoExps {
  using T = Normalizer;
  __device__ __forceinline__ static Normalizer merge(Normalizer a, Normalizer b) {
    const float m = fmaxf(a.m, b.m);
    const float shift = m == negative_infinity() ? 0.0f : m;
    return {m, a.d * __expf(a.m - shift) + b.d * __expf(b.m - shift)};
  }
};

template <class T, int kFragment>
__device__ __forceinline__ void load_fragment(const T* x, std::int64_t begin, std::int64_t V,
                                              float (&of)[kFragment]) {
#pragma unroll
  for (int j = 0; j < kFragment; ++j) {
    const std::int64_t i = begin + threadIdx.x + j * static_cast<std::int64_t>(blockDim.x);
    of[j] = i < V ? to_float(x[i]) : negative_infinity();
  }
}

template <class T, int kFragment>
__global__ void __launch_bounds__(kMostThreads)
    fragment_tree_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const std::int64_t chunk = static_cast<std::int64_t>(blockDim.x) * kFragment;
  ASSAY_SHARED(Normalizer, cells, kMostThreads);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float of[kFragment];
    Normalizer n = identity();
    for (std::int64_t begin = 0; begin < V; begin += chunk) {
      load_fragment(x, begin, V, of);
      Normalizer own = identity();
#pragma unroll
      for (int j = 0; j < kFragment; ++j) own.m = fmaxf(own.m, of[j]);
      const float shift = own.m == negative_infinity() ? 0.0f : own.m;
#pragma unroll
      for (int j = 0; j < kFragment; ++j) own.d += __expf(of[j] - shift);
      n = begin == 0 ? own : TwoExps::merge(n, own);
    }
    n = tree_reduce<TwoExps>(n, cells);
    __syncthreads();  // all threads meet; everyone has read the result, and cells[] may hold the next row
    if (probs.base) {
      T* p = probs.row(row);
      const float reciprocal = 1.0f / n.d;
      for (std::int64_t begin = 0; begin < V; begin += chunk) {
        if (V > chunk) load_fragment(x, begin, V, of);
#pragma unroll
        for (int j = 0; j < kFragment; ++j) {
          const std::int64_t i = begin + threadIdx.x + j * static_cast<std::int64_t>(blockDim.x);
          if (i < V) p[i] = from_float<T>(__expf(of[j] - n.m) * reciprocal);
        }
      }
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct FragmentTreeBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .exp = Exp::fast,
      .division = Division::reciprocal,
      // A thread's elements of a chunk, its chunks, then the tree.
      .height =
          [](std::int64_t V) {
            const int threads = threads_to_cover(V, kMostThreads);
            const std::int64_t chunks = ceil_div(V, kMostThreads * kLargestFragment);
            const std::int64_t of_a_chunk = ceil_div(V, threads);
            return tree_height((of_a_chunk < kLargestFragment ? of_a_chunk : kLargestFragment) + chunks,
                               threads);
          },
      .loads = [](std::int64_t V) { return V <= kMostThreads * kLargestFragment ? 1 : 2; },
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    const auto kernel =
        call.V <= 4 * kMostThreads ? fragment_tree_block<T, 4> : fragment_tree_block<T, kLargestFragment>;
    call.block_per_row(kernel, threads_to_cover(call.V, kMostThreads));
  }
};
ASSAY_REGISTER_KERNEL(FragmentTreeBlock, "fragment_tree_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
