// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#if defined(ASSAY_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace assay {
namespace {
int selected = 0;
}
int selected_device() { return selected; }

std::string no_code_reason(const std::string& architectures, int major, int minor) {
  std::istringstream all(architectures);
  for (std::string one; std::getline(all, one, ',');) {
    const int of = std::atoi(one.c_str());
    if (of == 0) return {};  // all, all-major: what they stand for is not known here
    // Code of an architecture with an a (90a) runs on exactly that one; with an f (100f) on its family.
    const std::size_t letter = std::to_string(of).size();
    const bool exact = one.size() > letter && one[letter] == 'a';
    const bool family = one.size() > letter && one[letter] == 'f';
    const bool real = !one.ends_with("-virtual"), ptx = !one.ends_with("-real") && !exact && !family;
    if (real && of / 10 == major && (exact ? of % 10 == minor : of % 10 <= minor)) return {};
    if (ptx && of <= 10 * major + minor) return {};
  }
  return "no GPU of an architecture that this build has code for: it was built for sm " + architectures +
         ", the GPU is sm " + std::to_string(10 * major + minor);
}

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

/// Empty, or why this build's code can not run on that GPU.
std::string code_reason(int ordinal) {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal) != cudaSuccess) {
    cudaGetLastError();
    return "no GPU: the driver does not tell its compute capability";
  }
  return no_code_reason(ASSAY_CUDA_ARCHITECTURES, major, minor);
}
}  // namespace

bool built_with_cuda() { return true; }

int device_count() {
  int count = 0;
  return cuda_reason().empty() && cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void prepare_device() {
  // If it cannot be made, the command that needs it says why.
  if (cuda_reason().empty() && cudaFree(nullptr) != cudaSuccess) cudaGetLastError();
}

std::string select_device(int ordinal) {
  if (std::string reason = cuda_reason(); !reason.empty()) return reason;
  int count = 0;
  cudaGetDeviceCount(&count);
  if (ordinal < 0 || ordinal >= count)
    return "device " + std::to_string(ordinal) + " does not exist (there are " + std::to_string(count) + ")";
  if (std::string reason = code_reason(ordinal); !reason.empty()) return reason;
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
void prepare_device() {}
std::string device_identity() { return {}; }
std::string select_device(int) { return "this build has no CUDA side"; }
std::vector<std::pair<std::string, std::string>> describe_device() { return {}; }
namespace {
std::string cuda_reason() { return "this build has no CUDA side"; }
std::string code_reason(int) { return {}; }
}  // namespace

#endif

std::string unavailable_reason(Backend backend) {
  static const std::string cuda = cuda_reason();
  switch (backend) {
    case Backend::cuda:
      return cuda.empty() ? code_reason(selected) : cuda;
    case Backend::host_fma:
      return __builtin_cpu_supports("fma") ? "" : "this CPU has no FMA";
    case Backend::host:
    case Backend::plugin:
      break;
  }
  return {};
}

namespace {

int lock(int file, int how) {
  int r;
  do r = flock(file, how);
  while (r != 0 && errno == EINTR);
  return r;
}

/// Opens the file of a place, or makes it. Returns -1 if that cannot be done.
int place(const std::string& path) {
  // In a shared folder another user's file can be opened but not created again. Workers must not inherit it.
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  int file = open(path.c_str(), kHow);
  if (file < 0 && errno == ENOENT) {
    file = open(path.c_str(), kHow | O_CREAT, 0444);
    // Overrides the umask, so that every user can open the file. It is empty.
    if (file >= 0) fchmod(file, 0444);
  }
  return file;
}

}  // namespace

DeviceLock::DeviceLock(const std::string& device, const std::function<void()>& waits,
                       const std::filesystem::path& folder) {
  const std::string path = (folder / ("assay-" + device + ".lock")).string();
  bool said = false;
  for (int n = kPlaces - 1; n >= 0; --n) {
    const int next = place(n == 0 ? path : path + "." + std::to_string(n));
    int got = next < 0 ? -1 : lock(next, LOCK_EX | LOCK_NB);
    if (got != 0 && next >= 0 && errno == EWOULDBLOCK) {
      if (!std::exchange(said, true)) waits();
      got = lock(next, LOCK_EX);
    }
    if (file_ >= 0) close(file_);
    file_ = next;
    held_ = got == 0;
  }
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace assay
