// Device memory mapped page by page, with nothing behind it: cuMemCreate and cuMemMap, shared by file
// descriptor. The driver's functions come through the runtime; nothing links against the driver.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "kernels/candidate.hpp"

namespace assay::isolation {

/// The memory of one buffer as this process sees it. Unmapped when it goes.
class DevicePages {
 public:
  DevicePages() = default;
  ~DevicePages();
  DevicePages(DevicePages&& other) noexcept;
  DevicePages& operator=(DevicePages&& other) noexcept;

  /// Empty, or why this cannot be had on the device.
  static std::string cannot(int device);
  /// What memory is mapped by there, in bytes; 0 if it cannot be.
  static std::uint64_t granularity(int device);

  /// Allocates `size` bytes, a multiple of the granularity. Lost where the device has no memory left.
  LaunchOutcome create(int device, std::uint64_t size);
  /// Maps what another process has allocated. A fault, or empty.
  std::string open(int device, std::uint64_t size, int descriptor);
  /// A descriptor for another process, or -1. The caller closes it.
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
