// SPDX-License-Identifier: Apache-2.0
// Times onepass_fast with one stage left out, where it stays behind its goal. What a stage costs is then a
// measurement. Outputs are wrong without a stage; nothing is judged here.
//   whole      onepass_fast as it is
//   no_exp     every exp is a multiplication
//   no_merge   no exchange of (m, d) between threads, warps and blocks
//   bare       neither, and no maximum and no sum: the rung only loads the row, holds it and stores it
// `copy_us`: the fastest of cudaMemcpyAsync and the copy kernels of the sweep. Cold caches: pairs of buffers in turn,
// more than twice the L2. Prints a JSON line a shape. reports/publish/limits/measure.sh compiles and runs it.
#include <algorithm>
#include <cstdio>
#include <string>

#include "kernels/building_blocks/onepass/rungs.cuh"
#include "reports/publish/limits/timing.cuh"

namespace assay::cuda::onepass {

struct NoExp {
  __device__ __forceinline__ static float of(float t) { return t * 0x1p-10f; }
};
struct NoMerge : FlushedExp {};
struct Nothing {
  __device__ __forceinline__ static float of(float) { return 0.0f; }
};
// clang-format off
template <> __device__ __forceinline__ Normalizer merge_lanes<NoMerge>(Normalizer n, int) { return n; }
template <> __device__ __forceinline__ Normalizer merge_lanes<Nothing>(Normalizer n, int) { return n; }
template <> __device__ __forceinline__ Normalizer Alone::merge<NoMerge>(Normalizer n) const { return n; }
template <> __device__ __forceinline__ Normalizer Alone::merge<Nothing>(Normalizer n) const { return n; }
template <> __device__ __forceinline__ Normalizer Cluster::merge<NoMerge>(Normalizer n) { cluster_wait(); return n; }
template <> __device__ __forceinline__ Normalizer Cluster::merge<Nothing>(Normalizer n) { cluster_wait(); return n; }
template <> __device__ __forceinline__ Normalizer Grid::merge<NoMerge>(Normalizer n) { return n; }
template <> __device__ __forceinline__ Normalizer Grid::merge<Nothing>(Normalizer n) { return n; }
// clang-format on

/// onepass_fast with E for its exp.
template <class E>
struct With : Fast {
  using Exp = E;
  using Fast::Fast;
  template <class T, int N>
  __device__ __forceinline__ void outputs(Chunk<N>& c) const {
    if constexpr (!std::is_same_v<E, Nothing>)
      for (int j = 0; j < N; ++j) c.x[j] = E::of(c.x[j] - m) * reciprocal;
  }
};

}  // namespace assay::cuda::onepass

namespace {

using namespace assay;
using namespace assay::cuda;
using namespace assay::limits;

template <class T>
__global__ void fill(T* x, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL)
    x[i] = from_float<T>(static_cast<float>((i * 2654435761u >> 7) % 4096) / 1024.0f - 2.0f);
}

template <class T>
const char* rung_name(std::int64_t V, std::int64_t rows) {
  const onepass::Gpu gpu = onepass::gpu_for(onepass::boxed_rung<onepass::Fast, onepass::Cluster, T, 8>);
  const onepass::Step s = onepass::step_for<T>(V, rows, gpu);
  constexpr const char* kNames[] = {"lanes", "warp", "block", "cluster", "boxed", "grid", "stream"};
  return s.again ? "again" : kNames[static_cast<int>(s.rung)];
}

template <class T>
void measure(const Pool& pool, const char* type, std::int64_t rows, std::int64_t V) {
  const std::size_t one = (static_cast<std::size_t>(rows * V) * sizeof(T) + 511) / 512 * 512;
  if (2 * one > pool.bytes) return;
  const auto pairs =
      static_cast<int>(std::clamp<std::size_t>(2 * pool.l2 / one + 1, 1, pool.bytes / (2 * one)));
  const auto from = [&](int i) {
    return reinterpret_cast<T*>(pool.base + 2 * one * static_cast<std::size_t>(i % pairs));
  };
  const auto to = [&](int i) {
    return reinterpret_cast<T*>(pool.base + 2 * one * static_cast<std::size_t>(i % pairs) + one);
  };
  for (int i = 0; i < pairs; ++i) fill<<<1024, 256, 0, stream>>>(from(i), rows * V);
  Problem p;
  p.op = Op::softmax;
  p.in = p.out = DtypeOf<T>::value;
  p.rows = rows;
  p.V = p.in_pitch = p.out_pitch = V;
  Stream s{};
  s.handle = stream;
  const double guess = static_cast<double>(2 * one) / 3e6 + 2;
  const auto time = [&](auto form) {
    return median_us(
        [&](int i) {
          Buffers b{};
          b.logits = from(i);
          b.probs = to(i);
          onepass::run<decltype(form)>(Call<T>(p, b, s));
        },
        guess);
  };
  const std::size_t bytes = static_cast<std::size_t>(rows * V) * sizeof(T);
  const auto copy = [&](bool streaming) {
    return median_us([&](int i) { rig::enqueue_copy(stream, to(i), from(i), bytes, streaming); }, guess);
  };
  const auto memcpy_us = median_us(
      [&](int i) { cudaMemcpyAsync(to(i), from(i), bytes, cudaMemcpyDeviceToDevice, stream); }, guess);
  double copied = std::min({copy(true), copy(false), memcpy_us});
  if (rig::launches_overlap())
    copied = std::min(copied, median_us([&](int i) { rig::enqueue_overlapping_copy(stream, to(i), from(i), bytes, false); }, guess));
  using onepass::With;
  const double whole = time(onepass::Fast(Normalizer{0, 1})),
               no_exp = time(With<onepass::NoExp>(Normalizer{0, 1})),
               no_merge = time(With<onepass::NoMerge>(Normalizer{0, 1})),
               bare = time(With<onepass::Nothing>(Normalizer{0, 1}));
  std::printf(
      "{\"kind\":\"left_out\",\"dtype\":\"%s\",\"rows\":%lld,\"V\":%lld,\"rung\":\"%s\",\"copy_us\":%.3f,"
      "\"whole_us\":%.3f,"
      "\"no_exp_us\":%.3f,\"no_merge_us\":%.3f,\"bare_us\":%.3f}\n",
      type, static_cast<long long>(rows), static_cast<long long>(V), rung_name<T>(V, rows), copied, whole,
      no_exp, no_merge, bare);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const Pool pool = pool_of_gpu("left_out_head");
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {10, 25000},  {10, 128256}, {10, 262144},   {10, 1048576},  {1, 128256}, {1, 1048576},
      {4000, 32},   {4000, 64},   {4000, 128},    {4000, 256},    {4000, 512}, {4000, 1000},
      {4000, 4096}, {4000, 8192}, {4000, 262144}, {4000, 1048576}};
  for (const auto& [rows, V] : shapes) {
    measure<float>(pool, "f32", rows, V);
    measure<f16>(pool, "f16", rows, V);
  }
  return 0;
}
