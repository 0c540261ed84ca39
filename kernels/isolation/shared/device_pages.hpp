// SPDX-License-Identifier: Apache-2.0
// Device memory that is mapped page by page, so that nothing lies behind it. It uses cuMemCreate and
// cuMemMap, and is shared by file descriptor. The driver's functions are found through the runtime: nothing
// links to the driver.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/candidate.hpp"

namespace assay::isolation {

/// The memory of one buffer, as this process sees it. The destructor unmaps it.
class DevicePages {
 public:
  DevicePages() = default;
  ~DevicePages();
  DevicePages(DevicePages&& other) noexcept;
  DevicePages& operator=(DevicePages&& other) noexcept;

  /// Empty, or the reason why the device does not support this.
  static std::string cannot(int device);
  /// The size in bytes in which the device maps memory, or 0 if it cannot.
  static std::uint64_t granularity(int device);

  /// Allocates `size` bytes, a multiple of the granularity. The outcome is `lost` if the device has no memory
  /// left.
  LaunchOutcome create(int device, std::uint64_t size);
  /// Maps memory that another process has allocated. Returns a fault, or empty.
  std::string open(int device, std::uint64_t size, int descriptor);
  /// Returns a descriptor for another process, or -1. The caller closes it.
  int share() const;

  std::byte* data() const { return reinterpret_cast<std::byte*>(at_); }
  std::uint64_t size() const { return size_; }

 private:
  std::string map(int device);

  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr at_ = 0;
  std::uint64_t size_ = 0, reserved_ = 0;
};

}  // namespace assay::isolation
