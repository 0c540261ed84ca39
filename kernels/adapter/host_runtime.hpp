// SPDX-License-Identifier: Apache-2.0
// What a CUDA file written for nvcc finds when it is compiled for the host executor: CUDA's words at global
// scope, launches, shared memory, and the part of the runtime that launchers call. Device memory is host
// memory, a stream is only a name, and every call is complete when it returns.
//
// A launch with more than 48 KiB of dynamic shared memory runs even if cudaFuncSetAttribute was not called.
// On a GPU it would fail.
#pragma once

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#ifndef ASSAY_BACKEND
#define ASSAY_BACKEND host
#endif
#define ASSAY_HOST_CUDA 1
#include "kernels/adapter/cuda_constants.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/cuda_intrinsics.hpp"
#include "kernels/host/executor.hpp"

using namespace assay::ASSAY_BACKEND;  // NOLINT: nvcc's words are global

// cudaMemcpyToSymbol writes to tables in constant memory.
#undef __constant__
#define __constant__ static
#define __builtin_assume(condition) ((void)0)
#define __builtin_align__(n) alignas(n)

namespace assay_cuda {

// The memory that a user's file allocates with cudaMalloc, on the host executor.

/// Poisons the memory that the file allocates, and guard bytes on both sides of it. A launch that writes the
/// guards is a fault. So is freeing a block whose guards were written.
class Allocations {
 public:
  void* take(size_t bytes) {
    auto* const base =
        static_cast<char*>(::aligned_alloc(kGuard, (bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard));
    if (!base) return nullptr;
    ::assay::executor::poison(base, bytes + 2 * kGuard);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[base + kGuard] = {bytes, guards(base, bytes)};
    return base + kGuard;
  }
  /// Frees a block. False if it was not allocated here.
  bool give_back(void* p) {
    if (!p) return true;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(p));
    if (found == blocks_.end()) return false;
    const std::string fault = fault_of(*found);
    blocks_.erase(found);
    ::free(static_cast<char*>(p) - kGuard);
    if (!fault.empty()) throw ::assay::executor::Fault(fault, ::assay::FaultKind::own_memory_overrun);
    return true;
  }
  void check() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& block : blocks_)
      if (const std::string fault = fault_of(block); !fault.empty())
        throw ::assay::executor::Fault(fault, ::assay::FaultKind::own_memory_overrun);
  }

 private:
  static constexpr size_t kGuard = 256;
  struct Block {
    size_t bytes = 0;
    std::string guards;
  };
  static std::string guards(const char* base, size_t bytes) {
    return std::string(base, kGuard) + std::string(base + kGuard + bytes, kGuard);
  }
  /// Reports each overrun once, for the launch that made it.
  static std::string fault_of(std::pair<char* const, Block>& b) {
    const std::string now = guards(b.first - kGuard, b.second.bytes);
    if (now == b.second.guards) return {};
    const bool before = now.compare(0, kGuard, b.second.guards, 0, kGuard) != 0;
    b.second.guards = now;
    return std::string("memory was written ") + (before ? "before" : "past") + " the " +
           std::to_string(b.second.bytes) + " bytes that cudaMalloc gave";
  }

  std::mutex mutex_;
  std::map<char*, Block> blocks_;
};
/// Never destroyed: objects of the file may free memory when the process ends.
inline Allocations& allocations = *new Allocations;

namespace words = ::assay::ASSAY_BACKEND;

/// What one call of an entry did with streams, as far as this thread saw it. Work on the default stream does
/// not wait for earlier work on the given stream, and the given stream does not wait for it.
struct Streams {
  int on_default = 0;  // launches and asynchronous copies on the default stream
  int waited = 0;      // synchronisations: a launcher that waits may use any stream
};
inline thread_local Streams streams;
/// The streams of calls, and the streams created here. They are only names, but not null.
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
/// `extern __shared__ T name[]` outside any function.
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
// A launch that fails throws, so whoever asks later asks about a launch that did not fail.
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
// Every call is complete when it returns. So there is nothing to query, and a query does not count as
// waiting.
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
  *grid = assay_cuda::kMultiprocessors * (2048 / *threads);
  return cudaSuccess;
}
