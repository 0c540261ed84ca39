// SPDX-License-Identifier: Apache-2.0
#include "kernels/candidate.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#include "kernels/device.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"

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

LaunchOutcome launch_on_host(const Variant& variant, const Problem& problem, Images& images,
                             const LaunchOptions& options) {
  // Under AddressSanitizer, a kernel that touches a guard band stops with its own stack trace.
  for (Image* i : buffers_of(images))
    if (!i->empty()) {
      sanitizers::forbid(i->data(), i->offset());
      sanitizers::forbid(i->payload() + i->payload_bytes(), i->size() - i->offset() - i->payload_bytes());
    }
  const auto at = [](const Image& i) { return i.empty() ? nullptr : i.payload(); };
  Buffers b;
  b.logits = at(images.logits);
  b.probs = at(options.in_place ? images.logits : images.probs);
  b.indices = at(images.indices);
  b.m = reinterpret_cast<float*>(at(images.m));
  b.d = reinterpret_cast<float*>(at(images.d));
  b.workspace = at(images.workspace);
  b.mask = at(images.mask);
  b.bias = at(images.bias);
  b.lengths = at(images.lengths);
  b.temperatures = reinterpret_cast<const float*>(at(images.temperatures));
  b.gradients = at(images.gradients);
  LaunchOutcome outcome = call_on_host(variant, problem, b, options.schedule, options.max_blocks);
  outcome.dispatch = executor::dispatch();
  for (Image* i : buffers_of(images))
    if (!i->empty()) sanitizers::allow(i->data(), i->size());
  return outcome;
}

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
  const auto at = [&](int i) {
    const auto s = static_cast<std::size_t>(i);
    return on_device[s] ? on_device[s] + list[s]->offset() : nullptr;
  };
  Buffers b;
  b.logits = at(0);
  b.probs = at(options.in_place ? 0 : 1);
  b.indices = at(2);
  b.m = reinterpret_cast<float*>(at(3));
  b.d = reinterpret_cast<float*>(at(4));
  b.workspace = at(5);
  b.mask = at(6);
  b.bias = at(7);
  b.lengths = at(8);
  b.temperatures = reinterpret_cast<const float*>(at(9));
  b.gradients = at(10);
  variant.run(problem, b, Stream{stream, options.max_blocks});
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

LaunchOutcome call_on_host(const Variant& variant, const Problem& problem, const Buffers& buffers,
                           std::uint64_t schedule, std::int64_t max_blocks) {
  executor::set_schedule({schedule});
  try {
    variant.run(problem, buffers, Stream{nullptr, max_blocks});
  } catch (const executor::Fault& fault) {
    return {std::string("executor: ") + fault.what(), Ended::fault, {}, 0, fault.kind};
  } catch (const std::exception& e) {
    return {std::string("the launcher threw: ") + e.what(), Ended::fault, {}, 0, FaultKind::threw};
  }
  return {};
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
