// SPDX-License-Identifier: Apache-2.0
// Runs one body per index over arrays in host memory. On the host this is a loop. On a GPU the arrays are
// copied to the device, the body runs in one launch, and the results are copied back. A CUDA error is thrown
// as std::runtime_error.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/building_blocks/backend.hpp"
#include "kernels/device.hpp"

namespace assay::ASSAY_BACKEND {

#if defined(__CUDACC__)

inline void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(e));
}

/// The arrays of one launch. Device memory is kept between launches, because allocating costs more than most
/// launches here. Not thread-safe.
class Arrays {
 public:
  Arrays() { must(cudaSetDevice(selected_device()), "selecting the device"); }

  template <class T>
  const T* in(const T* host, std::size_t n) {
    T* const device = room<T>(n);
    if (n > 0) must(cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice), "copying to the device");
    return device;
  }
  /// An input array. It starts as `host`; the body may overwrite it; it is not copied back.
  template <class T>
  T* scratch(T* host, std::size_t n) {
    return const_cast<T*>(in(host, n));
  }
  template <class T>
  T* out(T* host, std::size_t n) {
    T* const device = room<T>(n);
    results_.push_back({host, device, n * sizeof(T)});
    return device;
  }
  /// Waits for the launch and copies the results back.
  void collect() {
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "kernel");
    for (const Result& r : results_)
      if (r.bytes > 0) must(cudaMemcpy(r.host, r.device, r.bytes, cudaMemcpyDeviceToHost), "copying back");
  }

 private:
  struct Buffer {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Result {
    void* host;
    const void* device;
    std::size_t bytes;
  };

  /// One list of buffers for all types: arrays are identified by their number.
  Buffer& next() {
    static std::vector<Buffer> kept;
    if (used_ == kept.size()) kept.emplace_back();
    return kept[used_++];
  }

  template <class T>
  T* room(std::size_t n) {
    Buffer& b = next();
    if (const std::size_t bytes = n * sizeof(T); b.bytes < bytes) {
      must(cudaFree(b.data), "freeing device memory");
      b = {};
      must(cudaMalloc(&b.data, bytes), "allocating device memory");
      b.bytes = bytes;
    }
    return static_cast<T*>(b.data);
  }

  std::size_t used_ = 0;
  std::vector<Result> results_;
};

template <class Body>
__global__ void for_each_kernel(std::size_t n, Body body) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    body(i);
}
template <class Body>
void for_each(std::size_t n, Body body) {
  constexpr unsigned kThreads = 128;
  if (n == 0) return;
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  launch(for_each_kernel<Body>, static_cast<unsigned>(blocks < 65536 ? blocks : 65536), kThreads, 0, Stream{},
         n, body);
}

#else

class Arrays {
 public:
  template <class T>
  const T* in(const T* host, std::size_t) {
    return host;
  }
  template <class T>
  T* scratch(T* host, std::size_t) {
    return host;
  }
  template <class T>
  T* out(T* host, std::size_t) {
    return host;
  }
  void collect() {}
};

template <class Body>
void for_each(std::size_t n, Body body) {
  for (std::size_t i = 0; i < n; ++i) body(i);
}

#endif

}  // namespace assay::ASSAY_BACKEND
