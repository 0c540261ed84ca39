// What a CUDA file that was written for nvcc finds when it is compiled for the host executor: CUDA's words at
// global scope, launches, shared memory, and the part of the runtime that launchers call. Device memory is
// host memory, a stream is a name, every call is over when it returns.
//
// The properties reported are an H200's. A launch with more than 48 KiB of dynamic shared memory is run
// whether cudaFuncSetAttribute was called or not; on a GPU it would fail.
#pragma once

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#ifndef ASSAY_BACKEND
#define ASSAY_BACKEND host
#endif
#define ASSAY_HOST_CUDA 1
#include "kernels/adapter/allocations.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/rare_words.hpp"

using namespace assay::ASSAY_BACKEND;  // NOLINT: nvcc's words are global

// A table in constant memory is written by cudaMemcpyToSymbol.
#undef __constant__
#define __constant__ static
#define __builtin_assume(condition) ((void)0)
#define __builtin_align__(n) alignas(n)

#define CUDART_INF_F (__builtin_inff())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_NEG_ZERO_F (-0.0f)
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_THIRD_F 0.333333333f
#define CUDART_PIO4_F 0.785398163f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_2_OVER_PI_F 0.636619772f
#define CUDART_SQRT_2_OVER_PI_F 0.797884561f
#define CUDART_PI_F 3.141592654f
#define CUDART_L2E_F 1.442695041f
#define CUDART_L2T_F 3.321928094f
#define CUDART_LG2_F 0.301029996f
#define CUDART_LGE_F 0.434294482f
#define CUDART_LN2_F 0.693147181f
#define CUDART_LNT_F 2.302585093f
#define CUDART_TWO_TO_M126_F 1.175494351e-38f
#define CUDART_TWO_TO_126_F 8.507059173e37f
#define CUDART_NORM_HUGE_F 3.402823466e38f
#define CUDART_TWO_TO_23_F 8388608.0f
#define CUDART_TWO_TO_24_F 16777216.0f
#define CUDART_TWO_TO_31_F 2147483648.0f
#define CUDART_TWO_TO_32_F 4294967296.0f
#define CUDART_INF (__builtin_inf())
#define CUDART_NAN (__builtin_nan(""))
#define CUDART_ZERO 0.0
#define CUDART_ONE 1.0
#define CUDART_NEG_ZERO (-0.0)
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_L2E 1.4426950408889634e+0
#define CUDART_LN2 6.9314718055994529e-1
#define CUDART_INF_FP16 (__ushort_as_half(0x7c00))
#define CUDART_NAN_FP16 (__ushort_as_half(0x7fff))
#define CUDART_MIN_DENORM_FP16 (__ushort_as_half(0x0001))
#define CUDART_MAX_NORMAL_FP16 (__ushort_as_half(0x7bff))
#define CUDART_NEG_ZERO_FP16 (__ushort_as_half(0x8000))
#define CUDART_ZERO_FP16 (__ushort_as_half(0x0000))
#define CUDART_ONE_FP16 (__ushort_as_half(0x3c00))
#define CUDART_INF_BF16 (__ushort_as_bfloat16(0x7f80))
#define CUDART_NAN_BF16 (__ushort_as_bfloat16(0x7fff))
#define CUDART_MIN_DENORM_BF16 (__ushort_as_bfloat16(0x0001))
#define CUDART_MAX_NORMAL_BF16 (__ushort_as_bfloat16(0x7f7f))
#define CUDART_NEG_ZERO_BF16 (__ushort_as_bfloat16(0x8000))
#define CUDART_ZERO_BF16 (__ushort_as_bfloat16(0x0000))
#define CUDART_ONE_BF16 (__ushort_as_bfloat16(0x3f80))
#define CUDART_VERSION 12000
#define CUDA_VERSION CUDART_VERSION

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999
};
using cudaError = cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef cudaStream_t CUstream;
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaStreamNonBlocking 1
#define cudaEventDisableTiming 2
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4

namespace assay_cuda {
#if defined(ASSAY_TSAN)
// A persistent kernel then goes round its loop within the few rows that are run under ThreadSanitizer.
inline constexpr int kMultiprocessors = 2;
#else
inline constexpr int kMultiprocessors = 132;
#endif
}  // namespace assay_cuda

struct cudaDeviceProp {
  char name[256] = "assay host executor";
  size_t totalGlobalMem = size_t{141} << 30, sharedMemPerBlock = 49152, sharedMemPerBlockOptin = 232448,
         sharedMemPerMultiprocessor = 233472;
  int regsPerBlock = 65536, warpSize = 32, maxThreadsPerBlock = 1024, maxThreadsDim[3] = {1024, 1024, 64},
      maxGridSize[3] = {2147483647, 65535, 65535}, multiProcessorCount = assay_cuda::kMultiprocessors,
      maxThreadsPerMultiProcessor = 2048, maxBlocksPerMultiProcessor = 32, major = 9, minor = 0,
      l2CacheSize = 60 << 20;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes = 0, constSizeBytes = 0, localSizeBytes = 0;
  int maxThreadsPerBlock = 1024, numRegs = 32, maxDynamicSharedSizeBytes = 232448;
};

namespace assay_cuda {

namespace words = ::assay::ASSAY_BACKEND;

/// What one call of an entry did with streams, as far as this thread saw it. Work on the default stream
/// neither waits for what came before on the stream that was given nor is waited for there.
struct Streams {
  int on_default = 0;  // launches, and copies that are to go on by themselves
  int waited = 0;      // synchronisations: who waits may use any stream
};
inline thread_local Streams streams;
/// The streams of calls, and those that are created here: names, and no null.
inline cudaStream_t given_stream() { return reinterpret_cast<cudaStream_t>(0x10); }
inline cudaStream_t own_stream() { return reinterpret_cast<cudaStream_t>(0x20); }
inline void enqueued(cudaStream_t s) { streams.on_default += s == nullptr || s == cudaStreamLegacy; }

/// kernel<<<grid, threads, shared, stream>>>: called with the kernel and its arguments.
struct Launch {
  dim3 grid, threads;
  size_t shared;
  template <class Kernel, class... A>
  void operator()(const Kernel& kernel, A&&... arguments) const {
    struct Call {
      const Kernel& kernel;
      std::tuple<std::decay_t<A>...> arguments;
    };
    const Call call{kernel, {std::forward<A>(arguments)...}};
    ::assay::executor::run(
        grid, threads, shared,
        [](const void* c) {
          const Call& k = *static_cast<const Call*>(c);
          std::apply(k.kernel, k.arguments);
        },
        &call);
    allocations.check();
  }
};
inline Launch launch(dim3 grid, dim3 threads, size_t shared = 0, cudaStream_t stream = nullptr) {
  enqueued(stream);
  return {grid, threads, shared};
}

inline void* shared(const void* tag, size_t bytes, size_t align) {
  return ::assay::executor::static_shared(tag, bytes, align);
}
/// `extern __shared__ T name[]` outside of any function.
template <class T>
struct DynamicShared {
  operator T*() const { return static_cast<T*>(::assay::executor::dynamic_shared()); }
  template <class U>
  explicit operator U*() const {
    return static_cast<U*>(::assay::executor::dynamic_shared());
  }
};

}  // namespace assay_cuda

// ---- the runtime ----

inline const char* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "an error"; }
inline const char* cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }
// A launch that fails throws: whoever asks afterwards asks of one that did not.
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

template <class T>
cudaError_t cudaMalloc(T** p, size_t bytes) {
  *p = static_cast<T*>(assay_cuda::allocations.take(bytes));
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
template <class T>
cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t) {
  return cudaMalloc(p, bytes);
}
template <class T>
cudaError_t cudaMallocManaged(T** p, size_t bytes, unsigned = 1) {
  return cudaMalloc(p, bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** p, size_t bytes, unsigned = 0) {
  return cudaMalloc(p, bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** p, size_t bytes, unsigned) {
  return cudaMalloc(p, bytes);
}
inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = cudaDeviceProp{}.totalGlobalMem;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) {
  return assay_cuda::allocations.give_back(p) ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
inline cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  ::memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind k,
                                   cudaStream_t stream = nullptr) {
  assay_cuda::enqueued(stream);
  return cudaMemcpy(to, from, bytes, k);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind) {
  for (size_t r = 0; r < height; ++r)
    ::memmove(static_cast<char*>(to) + r * to_pitch, static_cast<const char*>(from) + r * from_pitch, width);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind k,
                                     cudaStream_t stream = nullptr) {
  assay_cuda::enqueued(stream);
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, k);
}
inline cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  ::memset(p, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream = nullptr) {
  assay_cuda::enqueued(stream);
  return cudaMemset(p, value, bytes);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  ::memcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  ::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
  assay_cuda::enqueued(stream);
  return cudaMemcpyToSymbol(symbol, from, bytes, offset);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  assay_cuda::enqueued(stream);
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
  *p = const_cast<void*>(static_cast<const void*>(&symbol));
  return cudaSuccess;
}

inline cudaError_t cudaDeviceSynchronize() {
  ++assay_cuda::streams.waited;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++assay_cuda::streams.waited;
  return cudaSuccess;
}
// Every call was over when it returned: nothing is left to be asked about, and asking is no waiting.
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaStreamCreate(cudaStream_t* s) {
  *s = assay_cuda::own_stream();
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return cudaStreamCreate(s); }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) {
  *e = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0;
  return cudaSuccess;
}

inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
inline cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* d) {
  *d = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = cudaDeviceProp{};
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int) {
  const cudaDeviceProp p;
  switch (a) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

template <class F>
cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute a, int value) {
  const bool fits = a != cudaFuncAttributeMaxDynamicSharedMemorySize || (value >= 0 && value <= 232448);
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}
template <class F>
cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) {
  return cudaSuccess;
}
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, F) {
  *a = cudaFuncAttributes{};
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int threads, size_t shared,
                                                          unsigned = 0) {
  if (threads < 1 || threads > 1024 || shared > 232448) return cudaErrorInvalidValue;
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  *blocks = std::min({32, by_threads, static_cast<int>(233472 / (shared + 1024))});
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* threads, F, size_t = 0, int limit = 0) {
  *threads = limit > 0 && limit < 1024 ? limit : 1024;
  *grid = 132 * (2048 / *threads);
  return cudaSuccess;
}

/// How the next launches of this thread are scheduled (kernels/host/executor.hpp). `max_blocks` is for
/// launchers that know a cap on their grid: these do not.
extern "C" __attribute__((visibility("default"), used)) inline void assay_executor_control(
    std::uint64_t schedule, std::int64_t) {
  ::assay::executor::set_schedule({schedule});
}
/// Of a launch too large to run whole: the rows whose blocks are to run; none: all.
extern "C" __attribute__((visibility("default"), used)) inline void assay_executor_rows(
    const std::int64_t* rows, std::uint64_t count, std::int64_t per_block) {
  ::assay::executor::choose_blocks(::assay::executor::owners_of({rows, rows + count}, per_block));
}
