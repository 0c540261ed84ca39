// SPDX-License-Identifier: Apache-2.0
#include "kernels/candidate.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"

#if defined(ASSAY_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace assay {

Image::Image(std::size_t payload, std::size_t offset, std::size_t guard)
    : size_((guard + offset + payload + guard + 255) / 256 * 256),
      offset_(guard + offset),
      payload_(payload) {
  bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(256, size_)));
  if (!bytes_) throw std::bad_alloc();
}
void Image::Free::operator()(std::byte* p) const { std::free(p); }

namespace {

#if defined(ASSAY_WITH_CUDA)

/// Device buffers that grow on demand and are kept: allocation costs more than most launches here.
class DeviceMemory {
 public:
  std::byte* at_least(int slot, std::size_t bytes) {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (s.size < bytes) {
      cudaFree(s.data);
      s = {};
      if (cudaMalloc(&s.data, bytes) != cudaSuccess) return nullptr;
      s.size = bytes;
    }
    return static_cast<std::byte*>(s.data);
  }

 private:
  struct Slot {
    void* data = nullptr;
    std::size_t size = 0;
  };
  std::array<Slot, kBuffers> slots_;
};

LaunchOutcome launch_on_device(const Variant& variant, const Problem& problem, Images& images,
                               const LaunchOptions& options) {
  static std::mutex one_at_a_time;
  static DeviceMemory memory;
  static cudaStream_t stream = nullptr;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  // CUDA's current device is per thread.
  if (const cudaError_t e = cudaSetDevice(selected_device()); e != cudaSuccess)
    return {std::string("CUDA: selecting the device: ") + cudaGetErrorString(e), Ended::fault};
  const auto fault = [](const char* what, cudaError_t e) {
    return LaunchOutcome{std::string("CUDA: ") + what + ": " + cudaGetErrorString(e), Ended::fault};
  };
  if (!stream) {
    if (const cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); e != cudaSuccess)
      return fault("creating a stream", e);
  }
  std::array<std::byte*, kBuffers> on_device{};
  const auto list = buffers_of(images);
  for (int i = 0; i < kBuffers; ++i) {
    const Image& image = *list[static_cast<std::size_t>(i)];
    if (image.empty()) continue;
    std::byte*& p = on_device[static_cast<std::size_t>(i)];
    p = memory.at_least(i, image.size());
    if (!p) {
      cudaGetLastError();
      return lost_for_want(FaultKind::memory, fmt::format("memory: the device has no {:.2f} GiB left",
                                                          static_cast<double>(image.size()) / 0x1p30));
    }
    if (const cudaError_t e = cudaMemcpyAsync(p, image.data(), image.size(), cudaMemcpyHostToDevice, stream);
        e != cudaSuccess)
      return fault("copying to the device", e);
  }
  std::array<void*, kBuffers> at{};
  for (std::size_t i = 0; i < at.size(); ++i)
    if (on_device[i]) at[i] = on_device[i] + list[i]->offset();
  variant.run(problem, buffers_at(at, options.in_place), Stream{stream, options.max_blocks});
  if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return fault("launch", e);
  if (const cudaError_t e = cudaStreamSynchronize(stream); e != cudaSuccess) return fault("kernel", e);
  for (int i = 0; i < kBuffers; ++i) {
    const Image& image = *list[static_cast<std::size_t>(i)];
    if (image.empty()) continue;
    if (const cudaError_t e = cudaMemcpy(image.data(), on_device[static_cast<std::size_t>(i)], image.size(),
                                         cudaMemcpyDeviceToHost);
        e != cudaSuccess)
      return fault("copying from the device", e);
  }
  return {};
}

#endif

}  // namespace

Buffers buffers_at(const std::array<void*, kBuffers>& at, bool in_place) {
  const auto floats = [&](std::size_t i) { return static_cast<float*>(at[i]); };
  return {at[0], at[in_place ? 0 : 1], at[2], floats(3), floats(4), at[5], at[6], at[7], at[8], floats(9),
          at[10]};
}

bool on_device(const Variant& variant) {
  return variant.launcher ? variant.launcher->on_device() : variant.backend == Backend::cuda;
}

std::string cannot_launch(const Variant& variant) {
  if (std::string why = unavailable_reason(variant.backend); !why.empty()) return why;
  return variant.launcher ? variant.launcher->cannot({}) : std::string();
}

LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                     const LaunchOptions& options) {
  // This is an error of the caller, not of the kernel: it provides no gradients for a backward pass.
  if (problem.op == Op::softmax_backward && problem.rows * problem.V > 0 && images.gradients.empty())
    return lost_for_want(FaultKind::other, "a backward pass was given no gradients");
  if (variant.launcher) return variant.launcher->launch(variant, problem, images, options);
  if (!variant.run) return {variant.key() + " has no launcher", Ended::fault};
  if (variant.backend != Backend::cuda) return launch_on_host(variant, problem, images, options);
#if defined(ASSAY_WITH_CUDA)
  return launch_on_device(variant, problem, images, options);
#else
  return {"CUDA: this build has no CUDA side", Ended::fault};
#endif
}

}  // namespace assay
