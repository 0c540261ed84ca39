// SPDX-License-Identifier: Apache-2.0
// Copies images to the device and back, and measures the share of the device's time that this process gets.
#include "kernels/isolation/device_side.hpp"

#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"

#if !defined(ASSAY_WITH_CUDA)

namespace assay::isolation {

struct DeviceSide::State {};
DeviceSide::DeviceSide() = default;
DeviceSide::~DeviceSide() = default;
void DeviceSide::begin_ahead() {}
std::string DeviceSide::cannot(const LaunchOptions&) { return unavailable_reason(Backend::cuda); }
LaunchOutcome DeviceSide::put(Launch&, const Variant&, const std::vector<Images*>&, const LaunchOptions&,
                              std::vector<int>&) {
  return {unavailable_reason(Backend::cuda), Ended::fault};
}
LaunchOutcome DeviceSide::take(const Launch&, const std::vector<Images*>&) { return {}; }
std::string DeviceSide::changed(const Launch&, int, Images&) { return {}; }
LaunchOutcome DeviceSide::put_parts(Launch&, const PartBuffers&) {
  return {unavailable_reason(Backend::cuda), Ended::fault};
}
LaunchOutcome DeviceSide::take_parts(const Launch&, PartBuffers&, std::string&) { return {}; }
LaunchOutcome DeviceSide::put_batch(Batch&, const std::vector<Images*>&) {
  return {unavailable_reason(Backend::cuda), Ended::fault};
}
LaunchOutcome DeviceSide::read_batch() { return {}; }
std::vector<int> DeviceSide::changed_in_batch(const std::vector<Images*>&) { return {}; }
void DeviceSide::take_batch(const std::vector<Images*>&, const std::vector<bool>&) {}
LaunchOutcome DeviceSide::lend(void*, std::uint64_t, int, DeviceBuffer&) {
  return {unavailable_reason(Backend::cuda), Ended::fault};
}
void DeviceSide::free_all() {}
void DeviceSide::forget_worker() {}
double DeviceSide::share() { return 1; }
bool DeviceSide::waits_for_worker() { return false; }
std::uint64_t DeviceSide::free_bytes() const { return 0; }
std::uint64_t DeviceSide::all_bytes() const { return 0; }

}  // namespace assay::isolation

#else

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/isolation/device_side_state.hpp"
#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::isolation {
namespace {

/// In seconds. If an empty kernel ends within one such turn, this process had the device to itself. Every
/// other process that keeps the device busy has a turn before it.
constexpr double kTurn = 0.002;
/// How long one call watches it.
constexpr auto kWatched = std::chrono::milliseconds(20);
/// How long a device may take to become free after the worker's end.
constexpr auto kComesBack = std::chrono::seconds(5);

}  // namespace

DeviceSide::DeviceSide() = default;
DeviceSide::~DeviceSide() = default;

std::string DeviceSide::cannot(const LaunchOptions& options) {
  if (std::string why = unavailable_reason(Backend::cuda); !why.empty()) return why;
  return options.page_end ? DevicePages::cannot(selected_device()) : std::string();
}

void DeviceSide::begin_ahead() {
  static std::atomic<int> begun{0};
  if (ahead_.valid() || state_ || begun++ > 0) return;
  const int device = selected_device();
  ahead_ = std::async(std::launch::async, [device] {
    // An error is told by the next call.
    cudaSetDevice(device);
    cudaFree(nullptr);
    cudaGetLastError();
  });
}

LaunchOutcome DeviceSide::begin() {
  if (ahead_.valid()) ahead_.get();
  if (const cudaError_t e = cudaSetDevice(selected_device()); e != cudaSuccess)
    return fault("selecting the device", e);
  if (!state_) state_ = std::make_unique<State>();
  if (state_->stream) return {};
  const cudaError_t e = cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking);
  return e == cudaSuccess ? LaunchOutcome() : fault("creating a stream", e);
}

LaunchOutcome DeviceSide::put(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                              const LaunchOptions& options, std::vector<int>& descriptors) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  State& s = *state_;
  const std::uint64_t page = options.page_end ? DevicePages::granularity(selected_device()) : 256;
  if (page == 0) return other_fault("CUDA: the granularity of device pages is not known");
  for (int n = 0; n < request.count; ++n) {
    const int slot = request.count == 2 ? n : request.slot;
    const auto buffers = buffers_of(*images[static_cast<std::size_t>(n)]);
    for (int b = 0; b < kBuffers; ++b) {
      const Image& image = *buffers[static_cast<std::size_t>(b)];
      Placement& p = s.placements[slot][b];
      p = place(image, options.page_end, alignment_of(variant, request.problem, b), page);
      if (!image.empty()) {
        Memory& m = s.memory[options.page_end ? State::tight : State::plain][slot][b];
        if (LaunchOutcome why = s.at_least(m, p.slice.mapped, options.page_end); !why.ok()) return why;
        // In a larger mapping, move everything so that the image still ends where the mapping ends.
        if (options.page_end) {
          p.image_at += m.size - p.slice.mapped;
          p.slice.payload_at += m.size - p.slice.mapped;
        } else {
          p.slice.payload_at -= p.image_at;
          p.image_at = 0;
        }
        p.slice.mapped = m.size;
        if (LaunchOutcome why = s.put(image, m, p, request.device[slot][b], descriptors); !why.ok())
          return why;
        if (b == 0 && options.delayed_producer) {
          Memory& staged = s.memory[State::late][slot][0];
          if (LaunchOutcome why = s.at_least(staged, image.size(), false); !why.ok()) return why;
          Placement all = p;
          all.image_at = 0;
          if (LaunchOutcome why = s.put(image, staged, all, request.staging[slot], descriptors); !why.ok())
            return why;
          // The logits are NaN until the producer has run.
          if (const cudaError_t e = cudaMemsetAsync(m.data + p.image_at, 0xff, p.stored, s.stream);
              e != cudaSuccess)
            return fault("preparing the logits", e);
        }
      }
      request.slices[slot][b] = p.slice;
      request.stored[slot][b] = p.stored;
      request.image_at[slot][b] = p.image_at;
    }
  }
  const cudaError_t e = cudaStreamSynchronize(s.stream);
  return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
}

LaunchOutcome DeviceSide::take(const Launch& request, const std::vector<Images*>& images) {
  if (!state_) return {};
  State& s = *state_;
  for (int n = 0; n < request.count; ++n) {
    const int slot = request.count == 2 ? n : request.slot;
    const auto buffers = buffers_of(*images[static_cast<std::size_t>(n)]);
    for (int b = 0; b < kBuffers; ++b) {
      if (request.device[slot][b].generation == 0) continue;
      Memory& m = s.memory[request.device[slot][b].at_page_end ? State::tight : State::plain][slot][b];
      m.given = true;
      const Placement& p = s.placements[slot][b];
      if (const cudaError_t e =
              cudaMemcpyAsync(buffers[static_cast<std::size_t>(b)]->data(), m.data + p.image_at, p.stored,
                              cudaMemcpyDeviceToHost, s.stream);
          e != cudaSuccess)
        return fault("copying from the device", e);
    }
  }
  const cudaError_t e = cudaStreamSynchronize(s.stream);
  // The worker was given replacements for these buffers and has closed them.
  for (Memory& m : s.retired) release(m);
  s.retired.clear();
  return e == cudaSuccess ? LaunchOutcome() : fault("copying from the device", e);
}

std::string DeviceSide::changed(const Launch& request, int which, Images& images) {
  State& s = *state_;
  const int slot = request.count == 2 ? which : request.slot;
  const auto buffers = buffers_of(images);
  for (int b = 0; b < kBuffers; ++b) {
    if (request.device[slot][b].generation == 0) continue;
    const Memory& m = s.memory[request.device[slot][b].at_page_end ? State::tight : State::plain][slot][b];
    const Placement& p = s.placements[slot][b];
    for (std::uint64_t at = 0; at < p.stored; at += kChunk) {
      const std::uint64_t bytes = std::min(kChunk, p.stored - at);
      s.again.resize(std::max<std::size_t>(s.again.size(), bytes));
      if (cudaMemcpyAsync(s.again.data(), m.data + p.image_at + at, bytes, cudaMemcpyDeviceToHost,
                          s.stream) != cudaSuccess ||
          cudaStreamSynchronize(s.stream) != cudaSuccess ||
          std::memcmp(s.again.data(), buffers[static_cast<std::size_t>(b)]->data() + at, bytes) != 0)
        return kBufferNames[static_cast<std::size_t>(b)];
    }
  }
  return {};
}

LaunchOutcome DeviceSide::put_batch(Batch& request, const std::vector<Images*>& images) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  State& s = *state_;
  // Just as much as a batch may have: what goes beyond its end is no memory of this process.
  if (!s.batch.data)
    if (LaunchOutcome why = s.allocate(s.batch, kBatchBytes); !why.ok()) return why;
  if (!s.staged)
    if (const cudaError_t e = cudaHostAlloc(reinterpret_cast<void**>(&s.staged), 2 * kBatchBytes, 0);
        e != cudaSuccess) {
      s.staged = nullptr;
      return fault("allocating pinned memory", e);
    }
  request.memory.generation = s.batch.generation;
  request.memory.size = s.batch.size;
  std::memcpy(request.memory.handle.data(), &s.batch.handle, sizeof s.batch.handle);
  s.in_batch = 0;
  for (Images* const i : images) s.in_batch += bytes_in_batch(*i);
  const std::uint64_t begin_at = kBatchBytes - s.in_batch;
  std::uint64_t at = 0;
  for (std::size_t n = 0; n < images.size(); ++n) {
    const auto buffers = buffers_of(*images[n]);
    for (std::size_t b = 0; b < kBuffers; ++b) {
      const Image& image = *buffers[b];
      request.launches[n].at[b] = image.empty() ? kNoBuffer : begin_at + at + image.offset();
      if (image.empty()) continue;
      std::memcpy(s.staged + at, image.data(), image.size());
      at = next_image(at + image.size());
    }
  }
  cudaError_t e =
      cudaMemcpyAsync(s.images_of_batch(), s.staged, s.in_batch, cudaMemcpyHostToDevice, s.stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s.stream);
  return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
}

LaunchOutcome DeviceSide::read_batch() {
  State& s = *state_;
  cudaError_t e =
      cudaMemcpyAsync(s.staged, s.images_of_batch(), s.in_batch, cudaMemcpyDeviceToHost, s.stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s.stream);
  return e == cudaSuccess ? LaunchOutcome() : fault("copying from the device", e);
}

std::vector<int> DeviceSide::changed_in_batch(const std::vector<Images*>& images) {
  State& s = *state_;
  std::vector<int> changed(images.size(), -1);
  std::byte* const again = s.staged + kBatchBytes;
  if (cudaMemcpyAsync(again, s.images_of_batch(), s.in_batch, cudaMemcpyDeviceToHost, s.stream) !=
          cudaSuccess ||
      cudaStreamSynchronize(s.stream) != cudaSuccess)
    return {};
  std::uint64_t at = 0;
  for (std::size_t n = 0; n < images.size(); ++n)
    for (int b = 0; b < kBuffers; ++b) {
      const std::uint64_t bytes = buffers_of(*images[n])[static_cast<std::size_t>(b)]->size();
      if (bytes > 0 && changed[n] < 0 && std::memcmp(s.staged + at, again + at, bytes) != 0) changed[n] = b;
      at = next_image(at + bytes);
    }
  return changed;
}

void DeviceSide::take_batch(const std::vector<Images*>& images, const std::vector<bool>& wanted) {
  std::uint64_t at = 0;
  for (std::size_t n = 0; n < images.size(); ++n)
    for (Image* const image : buffers_of(*images[n])) {
      if (wanted[n] && !image->empty()) std::memcpy(image->data(), state_->staged + at, image->size());
      at = next_image(at + image->size());
    }
}

LaunchOutcome DeviceSide::lend(void* memory, std::uint64_t size, int generation, DeviceBuffer& told) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  cudaIpcMemHandle_t handle{};
  if (const cudaError_t e = cudaIpcGetMemHandle(&handle, memory); e != cudaSuccess)
    return fault("sharing device memory with a worker", e);
  std::memcpy(told.handle.data(), &handle, sizeof handle);
  told.size = size;
  told.generation = static_cast<std::uint64_t>(generation) + 1;
  return {};
}

void DeviceSide::free_all() {
  if (!state_) return;
  for (auto& set : state_->memory)
    for (auto& slot : set)
      for (Memory& m : slot) release(m);
  for (Memory& m : state_->retired) release(m);
  state_->retired.clear();
}

double DeviceSide::share() {
  // If this process cannot run a kernel, only the clock counts.
  if (!begin().ok()) return 1;
  State& s = *state_;
  if (!s.empty_stream && (cudaStreamCreateWithFlags(&s.empty_stream, cudaStreamNonBlocking) != cudaSuccess ||
                          cudaEventCreateWithFlags(&s.empty_done, cudaEventDisableTiming) != cudaSuccess)) {
    cudaGetLastError();
    return 1;
  }
  if (!s.empty_done) return 1;
  if (!s.empty_runs) {
    s.empty_since = std::chrono::steady_clock::now();
    enqueue_delay(s.empty_stream, 0);
    if (cudaEventRecord(s.empty_done, s.empty_stream) != cudaSuccess) {
      cudaGetLastError();
      return 1;
    }
    s.empty_runs = true;
  }
  if (!s.empty_ends_within(kWatched)) return 0;
  s.empty_runs = false;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - s.empty_since;
  return kTurn / std::max(kTurn, took.count());
}

bool DeviceSide::waits_for_worker() {
  return state_ && state_->empty_runs && state_->empty_ends_within(kComesBack);
}

std::uint64_t DeviceSide::free_bytes() const {
  std::size_t free = 0, all = 0;
  return cudaMemGetInfo(&free, &all) == cudaSuccess ? free : 0;
}

std::uint64_t DeviceSide::all_bytes() const {
  std::size_t free = 0, all = 0;
  return cudaMemGetInfo(&free, &all) == cudaSuccess ? all : 0;
}

void DeviceSide::forget_worker() {
  if (!state_) return;
  for (auto& set : state_->memory)
    for (auto& slot : set)
      for (Memory& m : slot) m.given = false;
}

// Launches in parts: the buffers are filled on the device, and only the wanted parts and the guards are read.

LaunchOutcome DeviceSide::put_parts(Launch& request, const PartBuffers& buffers) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  State& s = *state_;
  std::uint64_t needed = 0;
  for (const PartBuffer& b : buffers)
    if (b.payload > 0) needed += b.payload + 2 * kPartGuard;
  std::size_t have = 0, all = 0;
  if (const cudaError_t e = cudaMemGetInfo(&have, &all); e != cudaSuccess)
    return fault("asking for free memory", e);
  // The worker's context and its own allocations need memory, too.
  if (needed + needed / 16 > have)
    return lost_for_want(
        FaultKind::memory,
        fmt::format("memory: {:.1f} GiB are needed on the device, {:.1f} are free",
                    static_cast<double>(needed + needed / 16) / 0x1p30, static_cast<double>(have) / 0x1p30));
  for (int b = 0; b < kBuffers; ++b) {
    const PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    if (buffer.payload == 0) continue;
    Memory& m = s.memory[State::plain][0][b];
    if (LaunchOutcome why = s.at_least(m, buffer.payload + 2 * kPartGuard, false); !why.ok()) return why;
    if (LaunchOutcome why = s.put_parts(buffer, m); !why.ok()) return why;
    request.slices[0][b] = {m.size, kPartGuard, buffer.payload};
    DeviceBuffer& told = request.device[0][b];
    told.generation = m.generation;
    told.size = m.size;
    std::memcpy(told.handle.data(), &m.handle, sizeof m.handle);
  }
  return {};
}

LaunchOutcome DeviceSide::take_parts(const Launch& request, PartBuffers& buffers, std::string& guard) {
  if (!state_) return {};
  State& s = *state_;
  for (int b = 0; b < kBuffers; ++b) {
    if (request.device[0][b].generation == 0) continue;
    PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    const std::byte* const payload = s.memory[State::plain][0][b].data + kPartGuard;
    const auto read = [&](std::byte* to, const std::byte* from, std::uint64_t bytes) {
      return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s.stream);
    };
    cudaError_t e = cudaSuccess;
    for (BufferPart& p : buffer.wanted)
      if (e == cudaSuccess) e = read(p.bytes.data(), payload + p.at, p.bytes.size());
    std::vector<std::byte> bands(2 * kPartGuard);
    if (e == cudaSuccess) e = read(bands.data(), payload - kPartGuard, kPartGuard);
    if (e == cudaSuccess) e = read(bands.data() + kPartGuard, payload + buffer.payload, kPartGuard);
    if (e == cudaSuccess) e = cudaStreamSynchronize(s.stream);
    if (e != cudaSuccess) return fault("copying from the device", e);
    for (std::uint64_t i = 0; i < bands.size() && guard.empty(); ++i)
      if (bands[i] != std::byte{0xff})
        guard = fmt::format("bytes {} the {} were overwritten", i < kPartGuard ? "before" : "after",
                            kBufferNames[static_cast<std::size_t>(b)]);
  }
  return {};
}

}  // namespace assay::isolation

#endif
