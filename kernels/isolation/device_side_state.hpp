// SPDX-License-Identifier: Apache-2.0
// The supervisor's buffers on the device, by slot and by how they end, and the stream that fills them. Needs
// CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/device_side.hpp"
#include "kernels/isolation/shared/arena.hpp"
#include "kernels/isolation/shared/device_pages.hpp"

namespace assay::isolation {

/// The smallest allocation, in bytes. cudaMalloc gives one of this size a block of its own. That matters
/// because an IPC handle shares the whole block.
inline constexpr std::uint64_t kLeast = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kChunk = std::uint64_t{64} << 20;

/// The outcome is `lost` if the device has no memory left.
inline LaunchOutcome fault(const char* what, cudaError_t e) {
  cudaGetLastError();
  const std::string why = std::string(what) + ": " + cudaGetErrorString(e);
  if (e == cudaErrorMemoryAllocation) return lost_for_want(FaultKind::memory, "memory: " + why);
  return {"CUDA: " + why, Ended::fault, {}, 0, FaultKind::other};
}

inline LaunchOutcome other_fault(const char* what) { return {what, Ended::fault, {}, 0, FaultKind::other}; }

/// One buffer on the device, and whether the worker already has it.
struct Memory {
  std::byte* data = nullptr;
  std::uint64_t size = 0;
  std::uint64_t generation = 0;
  cudaIpcMemHandle_t handle{};
  DevicePages pages;
  bool given = false;
};

/// Guard bytes on each side of a buffer of which only parts are known.
inline constexpr std::uint64_t kPartGuard = std::uint64_t{64} << 10;

inline void release(Memory& m) {
  if (m.data && m.pages.size() == 0) cudaFree(m.data);
  m = Memory();
}

/// How often to check the event of the empty kernel.
inline constexpr auto kLook = std::chrono::microseconds(100);

struct DeviceSide::State {
  enum Set { plain, tight, late, sets };
  Memory memory[sets][kSlots][kBuffers];
  std::vector<Memory> retired;  // the worker may still have them open
  std::uint64_t generations = 0;
  Placement placements[kSlots][kBuffers];
  std::vector<std::byte> again;  // outputs read a second time
  Memory batch;
  std::byte* staged =
      nullptr;                 // 2 kBatchBytes of pinned memory: what was copied of a batch, first and second
  std::uint64_t in_batch = 0;  // bytes of the last batch
  cudaStream_t stream = nullptr;
  // The empty kernel has a stream of its own.
  cudaStream_t empty_stream = nullptr;
  cudaEvent_t empty_done = nullptr;
  std::chrono::steady_clock::time_point empty_since;
  bool empty_runs = false;

  /// Waits at most this long for the empty kernel.
  bool empty_ends_within(std::chrono::steady_clock::duration time) {
    const auto end = std::chrono::steady_clock::now() + time;
    do {
      const cudaError_t e = cudaEventQuery(empty_done);
      if (e != cudaErrorNotReady) return e == cudaSuccess;
      std::this_thread::sleep_for(kLook);
    } while (std::chrono::steady_clock::now() < end);
    cudaGetLastError();
    return false;
  }

  ~State() {
    if (empty_done) cudaEventDestroy(empty_done);
    if (empty_stream) cudaStreamDestroy(empty_stream);
    for (auto& set : memory)
      for (auto& slot : set)
        for (Memory& m : slot) release(m);
    for (Memory& m : retired) release(m);
    release(batch);
    if (staged) cudaFreeHost(staged);
    if (stream) cudaStreamDestroy(stream);
  }

  std::byte* images_of_batch() const { return batch.data + (kBatchBytes - in_batch); }

  /// A block of its own, which the worker can open.
  LaunchOutcome allocate(Memory& m, std::uint64_t bytes) {
    void* p = nullptr;
    if (const cudaError_t e = cudaMalloc(&p, bytes); e != cudaSuccess)
      return fault("allocating device memory", e);
    m.data = static_cast<std::byte*>(p);
    m.size = bytes;
    if (const cudaError_t e = cudaIpcGetMemHandle(&m.handle, p); e != cudaSuccess)
      return fault("sharing device memory with the worker", e);
    m.generation = ++generations;
    return {};
  }

  LaunchOutcome at_least(Memory& m, std::uint64_t size, bool page_end) {
    if (m.size >= size) return {};
    if (m.data) retired.push_back(std::exchange(m, Memory()));
    m = Memory();
    if (!page_end) return allocate(m, size > kChunk ? size : (size * 2 + kLeast - 1) / kLeast * kLeast);
    if (LaunchOutcome why = m.pages.create(selected_device(), size); !why.ok()) return why;
    m.data = m.pages.data();
    m.size = size;
    m.generation = ++generations;
    return {};
  }

  /// Fills `bytes` bytes on the device by repeating the first `known` of them.
  LaunchOutcome repeat(std::byte* at, std::uint64_t known, std::uint64_t bytes);

  /// Fills a buffer of which only parts are known, and its guard bands.
  LaunchOutcome put_parts(const PartBuffer& b, Memory& m);

  LaunchOutcome put(const Image& image, Memory& m, const Placement& p, DeviceBuffer& told,
                    std::vector<int>& descriptors) {
    told.generation = m.generation;
    told.size = m.size;
    told.at_page_end = m.pages.size() > 0;
    if (told.at_page_end && !m.given) {
      const int descriptor = m.pages.share();
      if (descriptor < 0) return other_fault("CUDA: device pages can not be shared with the worker");
      descriptors.push_back(descriptor);
      told.descriptor = 1;
    }
    static_assert(sizeof told.handle == sizeof m.handle);
    std::memcpy(told.handle.data(), &m.handle, sizeof m.handle);
    const cudaError_t e =
        cudaMemcpyAsync(m.data + p.image_at, image.data(), p.stored, cudaMemcpyHostToDevice, stream);
    return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
  }
};

inline LaunchOutcome DeviceSide::State::repeat(std::byte* at, std::uint64_t known, std::uint64_t bytes) {
  for (; known < bytes; known *= 2)
    if (const cudaError_t e =
            cudaMemcpyAsync(at + known, at, std::min(known, bytes - known), cudaMemcpyDeviceToDevice, stream);
        e != cudaSuccess)
      return fault("filling device memory", e);
  return {};
}

inline LaunchOutcome DeviceSide::State::put_parts(const PartBuffer& b, Memory& m) {
  std::byte* const payload = m.data + kPartGuard;
  cudaError_t e = cudaMemsetAsync(m.data, 0xff, kPartGuard, stream);
  if (e == cudaSuccess) e = cudaMemsetAsync(payload + b.payload, 0xff, kPartGuard, stream);
  std::vector<std::byte> first(std::min(b.payload, std::uint64_t{1} << 16));
  for (std::size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<std::byte>(b.fill >> 8 * (i % b.element));
  if (e == cudaSuccess)
    e = cudaMemcpyAsync(payload, first.data(), first.size(), cudaMemcpyHostToDevice, stream);
  if (e != cudaSuccess) return fault("filling device memory", e);
  if (LaunchOutcome why = repeat(payload, first.size(), b.payload); !why.ok()) return why;
  for (const BufferPart& p : b.given)
    if (e == cudaSuccess)
      e = cudaMemcpyAsync(payload + p.at, p.bytes.data(), p.bytes.size(), cudaMemcpyHostToDevice, stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
  return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
}

}  // namespace assay::isolation
