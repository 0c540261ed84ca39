// SPDX-License-Identifier: Apache-2.0
// Faults between calls and after them: a table that one type fills and another reads, and a result that
// changes after the launch is complete.
#include "kernels/mutants/stateful.cuh"

#if !defined(__CUDACC__)
#include <chrono>
#include <thread>
#endif

namespace assay::ASSAY_BACKEND {
namespace {

/// Adds `whole` vectors of 16 bytes, then the tail.
template <class T>
__global__ void in_vectors(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V,
                           std::int64_t whole) {
  constexpr std::int64_t kWidth = 16 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kStateThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kStateThreads>(maximum);
    const std::int64_t body = whole * kWidth < V ? whole * kWidth : V;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < body; i += kStateThreads) sum += expf(to_float(x[i]) - maximum);
    for (std::int64_t i = V - V % kWidth + threadIdx.x; i < V; i += kStateThreads)
      sum += expf(to_float(x[i]) - maximum);
    sum = block_reduce<Sum, kStateThreads>(sum);
    for (std::int64_t i = threadIdx.x; i < V; i += kStateThreads)
      probs.row(row)[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

/// Number of whole vectors in a row of V. The first caller fills the table, with its own vector width.
std::int64_t whole_vectors(std::int64_t V, std::int64_t width) {
  constexpr std::int64_t kTable = 4096;
  static std::int64_t table[kTable];  // holds the number + 1; 0: not known yet
  if (V >= kTable) return V / width;
  if (table[V] == 0) table[V] = V / width + 1;
  return table[V] - 1;
}

template <class T>
void table_by_length(const Problem& p, const Buffers& b, const Stream& s) {
  launch(in_vectors<T>, grid_for(p.rows, s), kStateThreads, 0, s, logits_of<T>(p, b), values_of<T>(p, b), b.m,
         b.d, p.V, whole_vectors(p.V, 16 / static_cast<std::int64_t>(sizeof(T))));
}

__global__ void honest(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) plain_row(k, row);
}

#if defined(__CUDACC__)
__global__ void spoil_later(float* p) {
  for (const long long start = clock64(); clock64() - start < 20000000;) {
  }
  *p = 0.25f;
}
#endif

/// Right when the launch is complete. Then its first output changes.
void writes_again(const Problem& p, const Buffers& b, const Stream& s) {
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, plain_of(p, b));
  float* const first = static_cast<float*>(b.probs);
  if (!first) return;
#if defined(__CUDACC__)
  static cudaStream_t own = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  cudaEvent_t written = nullptr;
  cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
  cudaEventRecord(written, static_cast<cudaStream_t>(s.handle));
  cudaStreamWaitEvent(own, written, 0);
  spoil_later<<<1, 1, 0, own>>>(first);
  cudaEventDestroy(written);
#else
  std::thread([first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    *first = 0.25f;
  }).detach();
#endif
}

template <class T>
bool plant(const char* id, const char* fault, void (*run)(const Problem&, const Buffers&, const Stream&),
           const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Op::softmax, kPlainClaim, run, expect);
}

constexpr Expect kByType{.check = "element", .group = "calls", .setup = "dtype_order"};

const bool planted[] = {
    plant<f32>("X46", "table_by_length", table_by_length<f32>, kByType),
    plant<f16>("X46", "table_by_length", table_by_length<f16>, kByType),
    plant<f32>("X47", "writes_again", writes_again,
               {.check = "late_write", .group = "streams", .setup = "late_write"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
