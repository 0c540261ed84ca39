// SPDX-License-Identifier: Apache-2.0
// serial_combine_block: safe softmax, one block per row; every thread leaves its partial result in shared
// memory and thread 0 alone combines them, one after another. Kernel 2 of Saman's blog "Fused Softmax, part
// 3: CUDA kernel" (f32). Reads logits three times.
// Worst case seen: 73.31 ulp (f32@host), staircase, V = 4099, rows = 1, seed 1: row 0, column 2444.
#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/variant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

/// Every thread gets the merge of all values, in order. `partial` may be written again after one more
/// barrier.
template <class R>
__device__ __forceinline__ float serial_reduce(float v, float* partial) {
  partial[threadIdx.x] = v;
  __syncthreads();  // all threads meet; partial[] is complete and readable by thread 0
  if (threadIdx.x == 0) {
    for (int t = 1; t < kThreads; ++t) v = R::merge(v, partial[t]);
    partial[0] = v;
  }
  __syncthreads();  // all threads meet; partial[0] is the result
  return partial[0];
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    serial_combine_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  // One array each: the other's barriers lie between two uses of one.
  ASSAY_SHARED(float, of_max, kThreads);
  ASSAY_SHARED(float, of_sum, kThreads);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = serial_reduce<Max>(maximum, of_max);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(to_float(x[i]) - maximum);
    sum = serial_reduce<Sum>(sum, of_sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

struct SerialCombineBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::safe,
      // A thread's own, then those of the threads that have elements.
      .height = [](std::int64_t V) { return ceil_div(V, kThreads) + (V < kThreads ? V : kThreads); },
      .loads = 3,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Call<T>& call) {
    call.block_per_row(serial_combine_block<T>, kThreads);
  }
};
ASSAY_REGISTER_KERNEL(SerialCombineBlock, "serial_combine_block", f16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
