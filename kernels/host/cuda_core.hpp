// SPDX-License-Identifier: Apache-2.0
// CUDA's vocabulary for kernels compiled on the host: the words that kernel code uses, bound to the executor.
// Everything lives in the backend's namespace. So the builds with and without FMA contraction never share an
// inline function.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/host/executor.hpp"
#include "kernels/host/half.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define threadIdx (::assay::executor::current->threadIdx)
#define blockIdx (::assay::executor::current->blockIdx)
#define blockDim (::assay::executor::current->blockDim)
#define gridDim (::assay::executor::current->gridDim)

/// Static shared memory. In plain CUDA: `__shared__ T name[N]`.
#define ASSAY_SHARED(T, name, N)                                \
  T(&name)                                                      \
  [N] = *static_cast<T(*)[N]>(::assay::executor::static_shared( \
      [] {                                                      \
        static const char tag = 0;                              \
        return static_cast<const void*>(&tag);                  \
      }(),                                                      \
      sizeof(T) * (N), alignof(T)))
/// Dynamic shared memory. In plain CUDA: `extern __shared__ T name[]`.
#define ASSAY_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::assay::executor::dynamic_shared())

namespace assay::ASSAY_BACKEND {

using dim3 = executor::Dim3;
inline constexpr int warpSize = 32;

// ---- barriers and warp collectives ----

inline void __syncthreads(const executor::Site& site = executor::Site::current()) {
  executor::block_barrier(executor::Barrier::plain, 0, site);
}
inline int __syncthreads_count(int p, const executor::Site& site = executor::Site::current()) {
  return executor::block_barrier(executor::Barrier::count, p, site);
}
inline int __syncthreads_and(int p, const executor::Site& site = executor::Site::current()) {
  return executor::block_barrier(executor::Barrier::all, p, site);
}
inline int __syncthreads_or(int p, const executor::Site& site = executor::Site::current()) {
  return executor::block_barrier(executor::Barrier::any, p, site);
}
inline void __syncwarp(unsigned mask = ~0u, const executor::Site& site = executor::Site::current()) {
  executor::warp_collective(executor::Collective::sync, mask, 0, 0, 32, site);
}

namespace words_detail {
template <class T>
std::uint64_t pack(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "shuffles carry at most 8 bytes");
  std::uint64_t u = 0;
  std::memcpy(&u, &v, sizeof(T));
  return u;
}
template <class T>
T unpack(std::uint64_t u) {
  T v;
  std::memcpy(&v, &u, sizeof(T));
  return v;
}
template <class T>
T shuffle(executor::Collective kind, unsigned mask, T v, int argument, int width,
          const executor::Site& site) {
  return unpack<T>(executor::warp_collective(kind, mask, pack(v), argument, width, site));
}

// For libraries that reduce structures: a shuffle of a value of any size moves eight bytes at a time.
template <class T>
T shuffle_any(executor::Collective kind, unsigned mask, const T& v, int argument, int width,
              const executor::Site& site) {
  static_assert(std::is_trivially_copyable_v<T>, "a shuffle moves bytes");
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t n = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, n);
    word = executor::warp_collective(kind, mask, word, argument, width, site);
    std::memcpy(bytes + at, &word, n);
  }
  T result = v;
  std::memcpy(static_cast<void*>(&result), bytes, sizeof(T));
  return result;
}

/// Poisons the result of a thread to which the library promises none: a kernel that uses it goes wrong
/// visibly.
template <class T>
T undefined_result(T v) {
  static_assert(std::is_trivially_copyable_v<T>);
  executor::poison(&v, sizeof(T));
  return v;
}

/// The calling thread's number in its block.
inline unsigned block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
}  // namespace words_detail

template <class T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32,
              const executor::Site& site = executor::Site::current()) {
  return words_detail::shuffle(executor::Collective::shfl, mask, v, source, width, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32,
                 const executor::Site& site = executor::Site::current()) {
  return words_detail::shuffle(executor::Collective::shfl_up, mask, v, static_cast<int>(delta), width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32,
                   const executor::Site& site = executor::Site::current()) {
  return words_detail::shuffle(executor::Collective::shfl_down, mask, v, static_cast<int>(delta), width,
                               site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32,
                  const executor::Site& site = executor::Site::current()) {
  return words_detail::shuffle(executor::Collective::shfl_xor, mask, v, lanes, width, site);
}
inline unsigned __ballot_sync(unsigned mask, int p, const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(
      executor::warp_collective(executor::Collective::ballot, mask, p != 0, 0, 32, site));
}
inline int __all_sync(unsigned mask, int p, const executor::Site& site = executor::Site::current()) {
  return static_cast<int>(executor::warp_collective(executor::Collective::all, mask, p != 0, 0, 32, site));
}
inline int __any_sync(unsigned mask, int p, const executor::Site& site = executor::Site::current()) {
  return static_cast<int>(executor::warp_collective(executor::Collective::any, mask, p != 0, 0, 32, site));
}
template <class T>
unsigned __match_any_sync(unsigned mask, T v, const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(
      executor::warp_collective(executor::Collective::match_any, mask, words_detail::pack(v), 0, 32, site));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T v, int* predicate,
                          const executor::Site& site = executor::Site::current()) {
  const auto r = static_cast<unsigned>(
      executor::warp_collective(executor::Collective::match_all, mask, words_detail::pack(v), 0, 32, site));
  *predicate = r != 0;
  return r;
}
inline unsigned __activemask() { return executor::active_mask(); }

inline unsigned __reduce_add_sync(unsigned mask, unsigned v,
                                  const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(executor::warp_collective(executor::Collective::add, mask, v, 0, 32, site));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned v,
                                  const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(executor::warp_collective(executor::Collective::max, mask, v, 0, 32, site));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned v,
                                  const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(executor::warp_collective(executor::Collective::min, mask, v, 0, 32, site));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned v,
                                  const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(
      executor::warp_collective(executor::Collective::bit_and, mask, v, 0, 32, site));
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned v,
                                 const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(executor::warp_collective(executor::Collective::bit_or, mask, v, 0, 32, site));
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned v,
                                  const executor::Site& site = executor::Site::current()) {
  return static_cast<unsigned>(
      executor::warp_collective(executor::Collective::bit_xor, mask, v, 0, 32, site));
}

// ---- memory ----

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() {}
template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, T v) {
  *p = v;
}

namespace words_detail {
template <class T, class F>
T atomic_update(T* p, F f) {
  std::atomic_ref<T> a(*p);
  T old = a.load();
  while (!a.compare_exchange_weak(old, f(old))) {
  }
  return old;
}
}  // namespace words_detail
template <class T>
T atomicAdd(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return static_cast<T>(o + v); });
}
template <class T>
T atomicMax(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return o < v ? v : o; });
}
template <class T>
T atomicMin(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return v < o ? v : o; });
}
template <class T>
T atomicOr(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return static_cast<T>(o | v); });
}
template <class T>
T atomicAnd(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return static_cast<T>(o & v); });
}
template <class T>
T atomicExch(T* p, std::type_identity_t<T> v) {
  return std::atomic_ref<T>(*p).exchange(v);
}
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, v);
  return expected;
}

// ---- arithmetic ----

inline int __float_as_int(float f) { return std::bit_cast<int>(f); }
inline unsigned __float_as_uint(float f) { return std::bit_cast<unsigned>(f); }
inline float __int_as_float(int i) { return std::bit_cast<float>(i); }
inline float __uint_as_float(unsigned i) { return std::bit_cast<float>(i); }
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __ffs(int v) { return v == 0 ? 0 : 1 + std::countr_zero(static_cast<unsigned>(v)); }

/// CUDA's own definition: ex2.approx of the rounded product of x and log2(e). Here the host's exp2f stands
/// for ex2.approx.
inline float __expf(float x) { return ::exp2f(x * 0x1.715476p+0f); }
inline float __logf(float x) { return ::log2f(x) * 0x1.62e430p-1f; }
/// x * (1/y), but 0 where 2^126 < |y| < 2^128, as the CUDA guide documents.
inline float __fdividef(float x, float y) {
  const float a = ::fabsf(y);
  if (a > 0x1p126f && a <= std::numeric_limits<float>::max())
    return std::isinf(x) ? std::numeric_limits<float>::quiet_NaN() : 0.0f * x;
  return x * (1.0f / y);
}
/// Of a number and a NaN, the number, as on a GPU. glibc gives NaN if the NaN signals.
/// Templates, because a kernel from elsewhere sees glibc's functions too, and two equal ones would not
/// compile. Such a kernel gets glibc's. So a signalling NaN gives NaN there.
template <class = void>
inline float fmaxf(float a, float b) {
  return a != a ? b : b != b ? a : ::fmaxf(a, b);
}
template <class = void>
inline float fminf(float a, float b) {
  return a != a ? b : b != b ? a : ::fminf(a, b);
}
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return ::sqrtf(x); }
inline float __fmaf_rn(float a, float b, float c) { return ::fmaf(a, b, c); }
// The _rn forms are never contracted to an FMA: the product and the sum pass through a volatile.
inline float __fmul_rn(float a, float b) {
  volatile float r = a * b;
  return r;
}
inline float __fadd_rn(float a, float b) {
  volatile float r = a + b;
  return r;
}
inline float __fsub_rn(float a, float b) {
  volatile float r = a - b;
  return r;
}
using std::max;
using std::min;

// ---- vector types ----

namespace words_detail {
template <class T, int N>
struct alignas(sizeof(T) * N) Vector;
template <class T>
struct alignas(2 * sizeof(T)) Vector<T, 2> {
  T x, y;
};
template <class T>
struct alignas(4 * sizeof(T)) Vector<T, 4> {
  T x, y, z, w;
};
}  // namespace words_detail
using float2 = words_detail::Vector<float, 2>;
using float4 = words_detail::Vector<float, 4>;
using int2 = words_detail::Vector<int, 2>;
using int4 = words_detail::Vector<int, 4>;
using uint2 = words_detail::Vector<unsigned, 2>;
using uint4 = words_detail::Vector<unsigned, 4>;
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

}  // namespace assay::ASSAY_BACKEND
