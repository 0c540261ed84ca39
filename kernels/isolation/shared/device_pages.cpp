// SPDX-License-Identifier: Apache-2.0
#if defined(ASSAY_WITH_CUDA)

#include "kernels/isolation/shared/device_pages.hpp"

#include <utility>

#include "kernels/fault_kind.hpp"

namespace assay::isolation {
namespace {

/// Looks up one function of the driver, or null.
template <class F>
F driver_function(const char* name) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t e = cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t e = cudaGetDriverEntryPoint(name, &f, cudaEnableDefault, &found);
#endif
  if (e != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<F>(f);
}

struct Driver {
#define ASSAY_DRIVER(name) decltype(&::name) name = driver_function<decltype(&::name)>(#name)
  ASSAY_DRIVER(cuDeviceGetAttribute);
  ASSAY_DRIVER(cuGetErrorString);
  ASSAY_DRIVER(cuMemAddressFree);
  ASSAY_DRIVER(cuMemAddressReserve);
  ASSAY_DRIVER(cuMemCreate);
  ASSAY_DRIVER(cuMemExportToShareableHandle);
  ASSAY_DRIVER(cuMemGetAllocationGranularity);
  ASSAY_DRIVER(cuMemImportFromShareableHandle);
  ASSAY_DRIVER(cuMemMap);
  ASSAY_DRIVER(cuMemRelease);
  ASSAY_DRIVER(cuMemSetAccess);
  ASSAY_DRIVER(cuMemUnmap);
#undef ASSAY_DRIVER
  bool complete() const {
    return cuDeviceGetAttribute && cuGetErrorString && cuMemAddressFree && cuMemAddressReserve &&
           cuMemCreate && cuMemExportToShareableHandle && cuMemGetAllocationGranularity &&
           cuMemImportFromShareableHandle && cuMemMap && cuMemRelease && cuMemSetAccess && cuMemUnmap;
  }
};

const Driver& driver() {
  static const Driver d;
  return d;
}

std::string fault(const char* what, CUresult r) {
  const char* text = nullptr;
  driver().cuGetErrorString(r, &text);
  return std::string("CUDA: ") + what + ": " + (text ? text : "unknown error");
}

CUmemAllocationProp properties(int device) {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = device;
  return p;
}

}  // namespace

DevicePages::~DevicePages() {
  const Driver& d = driver();
  if (at_ && size_) d.cuMemUnmap(at_, size_);
  if (memory_) d.cuMemRelease(memory_);
  if (reserved_) d.cuMemAddressFree(at_, reserved_);
}

DevicePages::DevicePages(DevicePages&& o) noexcept
    : memory_(std::exchange(o.memory_, 0)),
      at_(std::exchange(o.at_, 0)),
      size_(std::exchange(o.size_, 0)),
      reserved_(std::exchange(o.reserved_, 0)) {}

DevicePages& DevicePages::operator=(DevicePages&& o) noexcept {
  std::swap(memory_, o.memory_);
  std::swap(at_, o.at_);
  std::swap(size_, o.size_);
  std::swap(reserved_, o.reserved_);
  return *this;
}

std::string DevicePages::cannot(int device) {
  if (!driver().complete()) return "page_end: the driver has no virtual memory management";
  int mapping = 0, sharing = 0;
  const Driver& d = driver();
  d.cuDeviceGetAttribute(&mapping, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  d.cuDeviceGetAttribute(&sharing, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device);
  return mapping && sharing ? "" : "page_end: the device can not share mapped memory";
}

std::uint64_t DevicePages::granularity(int device) {
  if (!driver().complete()) return 0;
  const CUmemAllocationProp p = properties(device);
  std::size_t bytes = 0;
  return driver().cuMemGetAllocationGranularity(&bytes, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS
             ? bytes
             : 0;
}

LaunchOutcome DevicePages::create(int device, std::uint64_t size) {
  size_ = 0;
  const CUmemAllocationProp p = properties(device);
  if (const CUresult r = driver().cuMemCreate(&memory_, size, &p, 0); r != CUDA_SUCCESS) {
    memory_ = 0;
    const std::string why = fault("allocating device pages", r);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) return lost_for_want(FaultKind::memory, "memory: " + why);
    return {why, Ended::fault, {}, 0, FaultKind::other};
  }
  size_ = size;
  const std::string why = map(device);
  return why.empty() ? LaunchOutcome() : LaunchOutcome{why, Ended::fault, {}, 0, FaultKind::other};
}

std::string DevicePages::open(int device, std::uint64_t size, int descriptor) {
  const CUresult r = driver().cuMemImportFromShareableHandle(
      &memory_, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (r != CUDA_SUCCESS) {
    memory_ = 0;
    return fault("opening device pages", r);
  }
  size_ = size;
  return map(device);
}

std::string DevicePages::map(int device) {
  const Driver& d = driver();
  const std::uint64_t size = std::exchange(size_, 0);
  // Reserve one page of addresses more, and leave it unmapped.
  const std::uint64_t addresses = size + granularity(device);
  if (const CUresult r = d.cuMemAddressReserve(&at_, addresses, 0, 0, 0); r != CUDA_SUCCESS)
    return fault("reserving device addresses", r);
  reserved_ = addresses;
  if (const CUresult r = d.cuMemMap(at_, size, 0, memory_, 0); r != CUDA_SUCCESS)
    return fault("mapping device pages", r);
  size_ = size;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (const CUresult r = d.cuMemSetAccess(at_, size, &access, 1); r != CUDA_SUCCESS)
    return fault("opening access to device pages", r);
  return {};
}

int DevicePages::share() const {
  int descriptor = -1;
  if (driver().cuMemExportToShareableHandle(&descriptor, memory_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0) != CUDA_SUCCESS)
    return -1;
  return descriptor;
}

}  // namespace assay::isolation

#endif
