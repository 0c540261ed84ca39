// SPDX-License-Identifier: Apache-2.0
// Device memory for the judges and sweeps that run on a GPU, and CUDA's errors as exceptions. Included only
// where the CUDA side is compiled.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace assay {

/// Throws std::runtime_error "CUDA: WHAT: CUDA's message" unless e is success.
inline void check_cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(e));
}

/// Bytes on the current device; the destructor frees them.
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t bytes) { check_cuda(cudaMalloc(&data_, bytes), "allocating"); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

}  // namespace assay
