// SPDX-License-Identifier: Apache-2.0
// The fast judge on the GPU that holds the outputs: one block per row computes the row's maximum, its sums,
// then every verdict. Rows with anything open return to the host. Compiled with -fmad=false, like all oracle
// code.
//
// Cost of an f32 element: about 100 fp64 instructions (two exps of 21 each; a conversion counts as 4), and 16
// bytes read: logits three times, two of them mostly from cache, and outputs once.
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "accuracy/device_array.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"
#include "accuracy/fast_judge/kernel.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

struct Bf16 {
  std::uint16_t bits;
};
__device__ __forceinline__ float decoded(float x) { return x; }
__device__ __forceinline__ float decoded(__half x) { return __half2float(x); }
__device__ __forceinline__ float decoded(Bf16 x) { return __uint_as_float(std::uint32_t{x.bits} << 16); }

/// The result of a row.
struct RowResult {
  std::int64_t open;
  double sum_ulp, utilisation;
  float max_ulp;
  int correctly_rounded, rounding_undecided;
  fast::RowConstants constants;
};

/// A double-double sum; it keeps the error of each addition.
struct Sum {
  double hi = 0, lo = 0;
  __device__ __forceinline__ void add(double v) {
    const double t = hi + v;
    const double z = t - hi;
    lo += (hi - (t - z)) + (v - z);
    hi = t;
  }
  __device__ __forceinline__ void add(Sum o) {
    add(o.hi);
    lo += o.lo;
  }
};

__device__ __forceinline__ double shuffled(double v, int by) { return __shfl_xor_sync(0xffffffffu, v, by); }

/// Reduces the values of all threads with op; all threads get the result.
template <class T, class Shuffle, class Op>
__device__ T block_fold(T v, T* shared, Shuffle shuffle, Op op) {
  for (int by = 16; by > 0; by /= 2) v = op(v, shuffle(v, by));
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  T all = shared[0];
  for (int w = 1; w < kWarps; ++w) all = op(all, shared[w]);
  return all;
}

__device__ Sum block_sum(Sum s, Sum* shared) {
  return block_fold(
      s, shared,
      [](Sum v, int by) {
        Sum o;
        o.hi = shuffled(v.hi, by);
        o.lo = shuffled(v.lo, by);
        return o;
      },
      [](Sum a, Sum b) {
        a.add(b);
        return a;
      });
}
__device__ double block_sum(double s, double* shared) {
  return block_fold(s, shared, shuffled, [](double a, double b) { return a + b; });
}

/// Calls each(element) for every element of a row, four at a time where the row allows 16-byte (f32) or
/// 8-byte loads. Elements come in no particular order.
template <int kWidth, class T>
struct alignas(kWidth * sizeof(T)) Pack {
  T v[kWidth];
};
template <class T>
__device__ __forceinline__ bool packs(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (4 * sizeof(T)) == 0;
}
template <class T, class Each>
__device__ __forceinline__ void for_each(const T* x, std::int64_t V, Each each) {
  std::int64_t from = 0;
  if (packs(x)) {
    const std::int64_t quads = V / 4;
    for (std::int64_t i = threadIdx.x; i < quads; i += kThreads) {
      const Pack<4, T> p = reinterpret_cast<const Pack<4, T>*>(x)[i];
#pragma unroll
      for (int k = 0; k < 4; ++k) each(decoded(p.v[k]));
    }
    from = quads * 4;
  }
  for (std::int64_t i = from + threadIdx.x; i < V; i += kThreads) each(decoded(x[i]));
}
template <class T, class U, class Each>
__device__ __forceinline__ void for_each(const T* x, const U* g, std::int64_t V, Each each) {
  std::int64_t from = 0;
  if (packs(x) && packs(g)) {
    const std::int64_t quads = V / 4;
    for (std::int64_t i = threadIdx.x; i < quads; i += kThreads) {
      const Pack<4, T> p = reinterpret_cast<const Pack<4, T>*>(x)[i];
      const Pack<4, U> q = reinterpret_cast<const Pack<4, U>*>(g)[i];
#pragma unroll
      for (int k = 0; k < 4; ++k) each(decoded(p.v[k]), decoded(q.v[k]));
    }
    from = quads * 4;
  }
  for (std::int64_t i = from + threadIdx.x; i < V; i += kThreads) each(decoded(x[i]), decoded(g[i]));
}

template <class T, class U>
// Three blocks per SM: 80 registers. Four or five blocks spill registers and are slower.
__global__ void __launch_bounds__(kThreads, 3)
    judge_rows(fast::ClaimConstants c, const T* logits, std::int64_t in_pitch, const U* probs,
               std::int64_t out_pitch, std::int64_t rows, std::int64_t V, RowResult* results) {
  __shared__ float maxima[kWarps];
  __shared__ Sum sums[kWarps];
  __shared__ double doubles[kWarps];
  const auto shuffled_float = [](float v, int by) { return __shfl_xor_sync(0xffffffffu, v, by); };
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * in_pitch;
    const U* g = probs + row * out_pitch;

    // A NaN anywhere makes the maximum NaN.
    float m = -__builtin_huge_valf();
    for_each(x, V, [&](float v) { m = v > m || v != v ? v : m; });
    m = block_fold(m, maxima, shuffled_float, [](float a, float b) { return b > a || b != b ? b : a; });
    const bool judged = m >= -0x1.fffffep127f && m <= 0x1.fffffep127f;
    if (!judged) {  // the same for every thread
      if (threadIdx.x == 0) results[row] = {V, 0, 0, 0, 0, 0, {}};
      continue;
    }

    Sum s;
    float weighted = 0;
    for_each(x, V, [&](float v) {
      float f, err;
      fast::round_shift(v, m, f, err);
      const double e = fast::exp_shift(f, err);
      s.add(e);
      const float part = static_cast<float>(e) * fast::own_error(c, f, err);
      weighted += part > 0 ? part : 0;
    });
    s = block_sum(s, sums);
    const double all_weighted = block_sum(static_cast<double>(weighted), doubles);
    const fast::RowConstants r = fast::row_constants(c, m, s.hi + s.lo, all_weighted);

    Sum sum;
    int open = 0, correctly_rounded = 0, undecided = 0;
    float max_ulp = 0, sum_ulp = 0;
    double worst_error = 0, worst_bound = 1;
    for_each(x, g, V, [&](float xi, float gi) {
      float f, err;
      fast::round_shift(xi, m, f, err);
      const fast::ElementVerdict v = fast::judge(c, r, xi, gi, fast::exp_shift(f, err));
      open += !v.pass;
      sum.add(static_cast<double>(gi));
      max_ulp = fmaxf(max_ulp, v.ulp);
      sum_ulp += v.ulp;
      const bool near = v.ulp > 0.5f - static_cast<float>(fast::kRoundingSlack) &&
                        v.ulp < 0.5f + static_cast<float>(fast::kRoundingSlack);
      correctly_rounded += v.ulp <= 0.5f && !near;
      undecided += near;
      if (v.error * worst_bound > worst_error * v.bound && v.bound > 0) {
        worst_error = v.error;
        worst_bound = v.bound;
      }
    });
    sum = block_sum(sum, sums);
    const auto plus = [](int a, int b) { return a + b; };
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    const auto shuffled_int = [](int v, int by) { return __shfl_xor_sync(0xffffffffu, v, by); };
    int* ints = reinterpret_cast<int*>(maxima);
    open = block_fold(open, ints, shuffled_int, plus);
    correctly_rounded = block_fold(correctly_rounded, ints, shuffled_int, plus);
    undecided = block_fold(undecided, ints, shuffled_int, plus);
    max_ulp = block_fold(max_ulp, maxima, shuffled_float, larger);
    const double all_ulp = block_sum(static_cast<double>(sum_ulp), doubles);
    const double utilisation = block_fold(worst_error / worst_bound, doubles, shuffled,
                                          [](double a, double b) { return fmax(a, b); });
    if (threadIdx.x == 0) {
      if (open == 0 && !fast::row_sum_passes(c, r, sum.hi + sum.lo)) open = 1;
      results[row] = {open, all_ulp, utilisation, max_ulp, correctly_rounded, undecided, r};
    }
    __syncthreads();
  }
}

__global__ void exps(const double* t, const double* t_lo, double* out, std::int64_t n) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x)
    out[i] = fast::exp(t[i], t_lo[i]);
}

template <class T, class U>
void launch(const fast::ClaimConstants& c, const Outputs& o, RowResult* results) {
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(o.rows, 1 << 20));
  judge_rows<T, U><<<blocks, kThreads>>>(c, static_cast<const T*>(o.logits), o.in_pitch,
                                         static_cast<const U*>(o.probs), o.out_pitch, o.rows, o.V, results);
}

/// The first look at every row.
std::vector<RowResult> look(const Terms& terms, const Outputs& o) {
  if (o.V > std::int64_t{1} << 25)
    throw std::runtime_error("the fast judge takes rows of up to 2^25 on a GPU");
  fast::ClaimConstants c = fast::claim_constants(terms);
  c.emin = format(o.out).emin;
  c.mantissa_bits = format(o.out).mantissa_bits();
  const std::size_t bytes = static_cast<std::size_t>(o.rows) * sizeof(RowResult);
  const DeviceArray on_device(bytes);
  auto* results = static_cast<RowResult*>(on_device.data());
  std::vector<RowResult> host(static_cast<std::size_t>(o.rows));
  const bool same = o.in == o.out;
  if (o.in == Dtype::f32 && same)
    launch<float, float>(c, o, results);
  else if (o.in == Dtype::f16 && same)
    launch<__half, __half>(c, o, results);
  else if (o.in == Dtype::bf16 && same)
    launch<Bf16, Bf16>(c, o, results);
  else
    throw std::runtime_error("the fast judge takes logits and outputs of one dtype");
  check_cuda(cudaGetLastError(), "launching the judge");
  check_cuda(cudaMemcpy(host.data(), results, bytes, cudaMemcpyDeviceToHost), "the judge");
  return host;
}

FastJudgement second_look(const Claim& claim, const Terms& terms, const Outputs& o, std::int64_t row,
                          std::int64_t open) {
  const std::size_t size = size_of(o.in);
  std::vector<std::byte> logits(static_cast<std::size_t>(o.V) * size), probs(logits.size());
  const auto fetch = [&](void* to, const void* base, std::int64_t pitch) {
    check_cuda(
        cudaMemcpy(to, static_cast<const std::byte*>(base) + static_cast<std::size_t>(row * pitch) * size,
                   static_cast<std::size_t>(o.V) * size, cudaMemcpyDeviceToHost),
        "copying an open row");
  };
  fetch(logits.data(), o.logits, o.in_pitch);
  fetch(probs.data(), o.probs, o.out_pitch);
  return judge_open_row(claim, terms, o, row, logits.data(), probs.data(), open);
}

}  // namespace

FastJudgement judge_fast_on_device(const Claim& claim, Backend backend, const Outputs& o, double* seconds,
                                   std::vector<fast::RowConstants>* constants) {
  FastJudgement all;
  if (o.rows == 0 || o.V == 0) return all;
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const Terms terms = terms_of(claim, backend, o.out, o.V);
  check_cuda(cudaDeviceSynchronize(), "work before the judge");
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<RowResult> host = look(terms, o);
  if (constants)
    for (const RowResult& r : host) constants->push_back(r.constants);
  for (std::int64_t row = 0; row < o.rows; ++row) {
    const RowResult& r = host[static_cast<std::size_t>(row)];
    if (r.open == 0) {
      all.elements += o.V;
      all.statistics.max_ulp = std::max(all.statistics.max_ulp, r.max_ulp);
      all.statistics.sum_ulp += r.sum_ulp;
      all.statistics.correctly_rounded += r.correctly_rounded;
      all.statistics.rounding_undecided += r.rounding_undecided;
      all.statistics.utilisation = std::max(all.statistics.utilisation, r.utilisation);
      continue;
    }
    all.add(second_look(claim, terms, o, row, r.open));
  }
  if (seconds) *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

std::vector<DeviceRow> look_on_device(const Claim& claim, Backend backend, const Outputs& o) {
  std::vector<DeviceRow> rows;
  if (o.rows == 0 || o.V == 0) return rows;
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  for (const RowResult& r : look(terms_of(claim, backend, o.out, o.V), o))
    rows.push_back({r.open, r.utilisation, static_cast<double>(r.max_ulp), r.constants});
  return rows;
}

FastJudgement judge_row_of_device(const Claim& claim, Backend backend, const Outputs& o, std::int64_t row,
                                  std::int64_t open) {
  return second_look(claim, terms_of(claim, backend, o.out, o.V), o, row, open);
}

FastJudgement judge_fast_by_device(const Claim& claim, Backend backend, const Outputs& o,
                                   std::vector<fast::RowConstants>* constants) {
  if (o.rows == 0 || o.V == 0) return {};
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const auto bytes = [&](std::int64_t pitch) {
    return static_cast<std::size_t>((o.rows - 1) * pitch + o.V) * size_of(o.in);
  };
  const DeviceArray logits(bytes(o.in_pitch)), probs(bytes(o.out_pitch));
  check_cuda(cudaMemcpy(logits.data(), o.logits, bytes(o.in_pitch), cudaMemcpyHostToDevice),
             "copying to the device");
  check_cuda(cudaMemcpy(probs.data(), o.probs, bytes(o.out_pitch), cudaMemcpyHostToDevice),
             "copying to the device");
  Outputs there = o;
  there.logits = logits.data();
  there.probs = probs.data();
  return judge_fast_on_device(claim, backend, there, nullptr, constants);
}

std::vector<double> exps_by_device(const std::vector<double>& t, const std::vector<double>& t_lo) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const std::size_t bytes = t.size() * sizeof(double);
  const DeviceArray arguments(bytes), low(bytes), results(bytes);
  check_cuda(cudaMemcpy(arguments.data(), t.data(), bytes, cudaMemcpyHostToDevice), "copying to the device");
  check_cuda(cudaMemcpy(low.data(), t_lo.data(), bytes, cudaMemcpyHostToDevice), "copying to the device");
  exps<<<1024, 256>>>(static_cast<const double*>(arguments.data()), static_cast<const double*>(low.data()),
                      static_cast<double*>(results.data()), static_cast<std::int64_t>(t.size()));
  check_cuda(cudaGetLastError(), "launching exps");
  std::vector<double> out(t.size());
  check_cuda(cudaMemcpy(out.data(), results.data(), bytes, cudaMemcpyDeviceToHost), "exps");
  return out;
}

}  // namespace assay
