// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.hpp"

#if defined(ASSAY_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace assay {

namespace {
int selected = 0;
}
int selected_device() { return selected; }

#if defined(ASSAY_WITH_CUDA)

namespace {

std::string version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

std::string cuda_reason() {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e != cudaSuccess) {
    cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
      return "no GPU: no NVIDIA driver is installed";
    return std::string("no GPU: ") + cudaGetErrorString(e);
  }
  return count == 0 ? "no GPU: the driver reports none" : "";
}
}  // namespace

bool built_with_cuda() { return true; }

int device_count() {
  int count = 0;
  return cuda_reason().empty() && cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string select_device(int ordinal) {
  if (std::string reason = cuda_reason(); !reason.empty()) return reason;
  int count = 0;
  cudaGetDeviceCount(&count);
  if (ordinal < 0 || ordinal >= count)
    return "device " + std::to_string(ordinal) + " does not exist (there are " + std::to_string(count) + ")";
  selected = ordinal;
  return cudaSetDevice(ordinal) == cudaSuccess ? "" : "device " + std::to_string(ordinal) + " cannot be used";
}

std::string device_identity() {
  cudaDeviceProp p{};
  if (!cuda_reason().empty() || cudaGetDeviceProperties(&p, selected) != cudaSuccess) return {};
  std::string name = "GPU-";
  for (const char byte : p.uuid.bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    name += kDigits[static_cast<unsigned char>(byte) >> 4];
    name += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return name;
}

std::vector<std::pair<std::string, std::string>> describe_device() {
  if (!cuda_reason().empty()) return {};
  cudaDeviceProp p{};
  int driver = 0, runtime = 0, clock = 0, memory_clock = 0;
  if (cudaGetDeviceProperties(&p, selected) != cudaSuccess) return {};
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, selected);
  cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, selected);
  return {{"GPU", p.name},
          {"compute capability", std::to_string(p.major) + "." + std::to_string(p.minor)},
          {"multiprocessors", std::to_string(p.multiProcessorCount)},
          {"L2 bytes", std::to_string(p.l2CacheSize)},
          {"clocks", std::to_string(clock / 1000) + " MHz, memory " + std::to_string(memory_clock / 1000) +
                         " MHz (maximum)"},
          {"driver API", version(driver)},
          {"CUDA runtime", version(runtime)}};
}

#else

bool built_with_cuda() { return false; }
int device_count() { return 0; }
std::string device_identity() { return {}; }
std::string select_device(int) { return "this build has no CUDA side"; }
std::vector<std::pair<std::string, std::string>> describe_device() { return {}; }
namespace {
std::string cuda_reason() { return "this build has no CUDA side"; }
}  // namespace

#endif

std::string unavailable_reason(Backend backend) {
  static const std::string cuda = cuda_reason();
  switch (backend) {
    case Backend::cuda:
      return cuda;
    case Backend::host_fma:
      return __builtin_cpu_supports("fma") ? "" : "this CPU has no FMA";
    case Backend::host:
    case Backend::plugin:
      break;
  }
  return {};
}

}  // namespace assay
