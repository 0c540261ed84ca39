// SPDX-License-Identifier: Apache-2.0
// CUDA's names, from nvcc or from the host executor, and macros for the three constructs that differ from
// plain CUDA: static shared memory, dynamic shared memory, launch. Every variant includes it through
// variant.cuh.
//
// The same .cu file is compiled up to three times, each copy in its own namespace:
//   assay::cuda      by nvcc,
//   assay::host      by the host compiler, contraction off,
//   assay::host_fma  by the host compiler, which may contract any a * b + c.
#pragma once

#include <cstdint>

#include "kernels/claim.hpp"
#include "kernels/registry.hpp"

// Fast-math flags change exp, division and subnormals without the claim saying so. (nvcc defines no macro for
// its flags; cmake/cuda.cmake refuses them.)
#if defined(__FAST_MATH__)
#error "kernels cannot be compiled with fast-math flags: a claim names its exp and its division"
#endif

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define ASSAY_BACKEND cuda
#define ASSAY_SHARED(T, name, N) __shared__ T name[N]
#define ASSAY_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char assay_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(assay_dynamic_shared)

namespace assay::cuda {
inline constexpr Backend kBackend = Backend::cuda;

/// kernel<<<grid, threads, shared, stream>>>(arguments...)
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 threads, std::size_t shared, const Stream& stream,
            A... arguments) {
  kernel<<<grid, threads, shared, static_cast<cudaStream_t>(stream.handle)>>>(static_cast<P>(arguments)...);
}

/// A launch with an attribute, and the memory that its configuration points to.
struct ClusterConfig {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t* get() {
    config.attrs = &attribute;
    config.numAttrs = 1;
    return &config;
  }
};
inline ClusterConfig cluster_config(unsigned clusters, int blocks, int threads, std::size_t shared,
                                    void* stream) {
  ClusterConfig c;
  c.config.gridDim = dim3(clusters * static_cast<unsigned>(blocks));
  c.config.blockDim = dim3(static_cast<unsigned>(threads));
  c.config.dynamicSmemBytes = shared;
  c.config.stream = static_cast<cudaStream_t>(stream);
  c.attribute.id = cudaLaunchAttributeClusterDimension;
  c.attribute.val.clusterDim.x = static_cast<unsigned>(blocks);
  c.attribute.val.clusterDim.y = c.attribute.val.clusterDim.z = 1;
  return c;
}
/// Launches clusters of `blocks` blocks each. Errors are those of cudaGetLastError.
template <class... P, class... A>
void launch_clusters(void (*kernel)(P...), unsigned clusters, int blocks, int threads, std::size_t shared,
                     const Stream& stream, A... arguments) {
  (void)cudaLaunchKernelEx(cluster_config(clusters, blocks, threads, shared, stream.handle).get(), kernel,
                           static_cast<P>(arguments)...);
}
/// Launches blocks that must all be on the GPU at the same time. Errors are those of cudaGetLastError.
template <class... P, class... A>
void launch_cooperative(void (*kernel)(P...), unsigned blocks, int threads, std::size_t shared,
                        const Stream& stream, A... arguments) {
  ClusterConfig c = cluster_config(blocks, 1, threads, shared, stream.handle);
  c.attribute.id = cudaLaunchAttributeCooperative;
  c.attribute.val.cooperative = 1;
  (void)cudaLaunchKernelEx(c.get(), kernel, static_cast<P>(arguments)...);
}
}  // namespace assay::cuda

#else

#ifndef ASSAY_BACKEND
#error "a host build of a variant defines ASSAY_BACKEND (host or host_fma): see kernels/CMakeLists.txt"
#endif
#include <tuple>

#include "kernels/host/cuda_core.hpp"

namespace assay::ASSAY_BACKEND {
namespace backend_names {
inline constexpr Backend host = Backend::host;
inline constexpr Backend host_fma = Backend::host_fma;
}  // namespace backend_names
inline constexpr Backend kBackend = backend_names::ASSAY_BACKEND;

namespace detail {
template <class... P, class... A>
void run(void (*kernel)(P...), dim3 grid, dim3 threads, std::size_t shared, unsigned cluster,
         A... arguments) {
  struct Call {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
  };
  const Call call{kernel, std::tuple<P...>(static_cast<P>(arguments)...)};
  executor::run(
      grid, threads, shared,
      [](const void* c) {
        const Call& k = *static_cast<const Call*>(c);
        std::apply(k.kernel, k.arguments);
      },
      &call, cluster);
}
}  // namespace detail

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 threads, std::size_t shared, const Stream&,
            A... arguments) {
  detail::run(kernel, grid, threads, shared, 1, arguments...);
}
/// Launches clusters of `blocks` blocks each.
template <class... P, class... A>
void launch_clusters(void (*kernel)(P...), unsigned clusters, int blocks, int threads, std::size_t shared,
                     const Stream&, A... arguments) {
  detail::run(kernel, clusters * static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared,
              static_cast<unsigned>(blocks), arguments...);
}
}  // namespace assay::ASSAY_BACKEND

#endif

namespace assay::ASSAY_BACKEND {

using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<f16> {
  static constexpr Dtype value = Dtype::f16;
};
template <>
struct DtypeOf<bf16> {
  static constexpr Dtype value = Dtype::bf16;
};
template <>
struct DtypeOf<f32> {
  static constexpr Dtype value = Dtype::f32;
};

__host__ __device__ __forceinline__ float to_float(f32 x) { return x; }
__host__ __device__ __forceinline__ float to_float(f16 x) { return __half2float(x); }
__host__ __device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }
template <class T>
__host__ __device__ T from_float(float x);
template <>
__host__ __device__ __forceinline__ f32 from_float<f32>(float x) {
  return x;
}
template <>
__host__ __device__ __forceinline__ f16 from_float<f16>(float x) {
  return __float2half_rn(x);
}
template <>
__host__ __device__ __forceinline__ bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

/// Rows that start `pitch` elements apart. Offsets are 64-bit.
template <class T>
struct Rows {
  T* base;
  std::int64_t count;
  std::int64_t pitch;
  __host__ __device__ T* row(std::int64_t r) const { return base + r * pitch; }
};
/// The same rows, for reading only.
template <class T>
Rows<const T> as_const(const Rows<T>& r) {
  return {r.base, r.count, r.pitch};
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Number of blocks for `work` units: one per unit, up to the stream's cap or 2^20. Beyond that, each block
/// processes several units in turn.
inline unsigned grid_for(std::int64_t work, const Stream& stream) {
  const std::int64_t most = stream.max_blocks > 0 ? stream.max_blocks : (1 << 20);
  return static_cast<unsigned>(work < most ? work : most);
}

}  // namespace assay::ASSAY_BACKEND
