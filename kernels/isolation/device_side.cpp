#include "kernels/isolation/device_side.hpp"

#include "kernels/device.hpp"

#if !defined(ASSAY_WITH_CUDA)

namespace assay::isolation {

struct DeviceSide::State {};
DeviceSide::DeviceSide() = default;
DeviceSide::~DeviceSide() = default;
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
void DeviceSide::free_all() {}
void DeviceSide::forget_worker() {}
double DeviceSide::share() { return 1; }
bool DeviceSide::waits_for_worker() { return false; }
std::uint64_t DeviceSide::free_bytes() const { return 0; }
std::uint64_t DeviceSide::all_bytes() const { return 0; }

}  // namespace assay::isolation

#else

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "kernels/isolation/shared/arena.hpp"
#include "kernels/isolation/shared/delay.hpp"
#include "kernels/isolation/shared/device_pages.hpp"

namespace assay::isolation {
namespace {

/// Smallest allocation: cudaMalloc gives these a block of their own, and a shared handle means the whole
/// block.
constexpr std::uint64_t kLeast = std::uint64_t{2} << 20;
constexpr std::uint64_t kChunk = std::uint64_t{64} << 20;

/// An empty kernel that ends within a turn of this process has found the device its own; each other process
/// that keeps it busy has a turn before it.
constexpr double kTurn = 0.002;
/// It is watched so long at a time, and its event looked at so often.
constexpr auto kWatched = std::chrono::milliseconds(20);
constexpr auto kLook = std::chrono::microseconds(100);
/// After the worker's end a device gets so long to come back.
constexpr auto kComesBack = std::chrono::seconds(5);

/// Lost where the device has no memory left.
LaunchOutcome fault(const char* what, cudaError_t e) {
  cudaGetLastError();
  const std::string why = std::string(what) + ": " + cudaGetErrorString(e);
  if (e == cudaErrorMemoryAllocation) return lost_for_want(FaultKind::memory, "memory: " + why);
  return {"CUDA: " + why, Ended::fault, {}, 0, FaultKind::other};
}

LaunchOutcome other_fault(const char* what) { return {what, Ended::fault, {}, 0, FaultKind::other}; }

/// One buffer on the device, and whether the worker has been given it.
struct Memory {
  std::byte* data = nullptr;
  std::uint64_t size = 0;
  std::uint64_t generation = 0;
  cudaIpcMemHandle_t handle{};
  DevicePages pages;
  bool given = false;
};

/// On either side of a buffer of which only parts are known.
constexpr std::uint64_t kPartGuard = std::uint64_t{64} << 10;

void release(Memory& m) {
  if (m.data && m.pages.size() == 0) cudaFree(m.data);
  m = Memory();
}

}  // namespace

struct DeviceSide::State {
  enum Set { plain, tight, late, sets };
  Memory memory[sets][kSlots][kBuffers];
  std::vector<Memory> retired;  // the worker may have them open still
  std::uint64_t generations = 0;
  Placement placements[kSlots][kBuffers];
  std::vector<std::byte> again;  // outputs read a second time
  cudaStream_t stream = nullptr;
  // The empty kernel, on a stream of its own.
  cudaStream_t empty_stream = nullptr;
  cudaEvent_t empty_done = nullptr;
  std::chrono::steady_clock::time_point empty_since;
  bool empty_runs = false;

  /// Waits for it so long at most.
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
    if (stream) cudaStreamDestroy(stream);
  }

  LaunchOutcome at_least(Memory& m, std::uint64_t size, bool page_end) {
    if (m.size >= size) return {};
    if (m.data) retired.push_back(std::exchange(m, Memory()));
    m = Memory();
    if (page_end) {
      if (LaunchOutcome why = m.pages.create(selected_device(), size); !why.ok()) return why;
      m.data = m.pages.data();
      m.size = size;
    } else {
      const std::uint64_t capacity = size > kChunk ? size : (size * 2 + kLeast - 1) / kLeast * kLeast;
      void* p = nullptr;
      if (const cudaError_t e = cudaMalloc(&p, capacity); e != cudaSuccess)
        return fault("allocating device memory", e);
      m.data = static_cast<std::byte*>(p);
      m.size = capacity;
      if (const cudaError_t e = cudaIpcGetMemHandle(&m.handle, p); e != cudaSuccess)
        return fault("sharing device memory with the worker", e);
    }
    m.generation = ++generations;
    return {};
  }

  /// Fills bytes on the device with copies of what stands at their beginning.
  LaunchOutcome repeat(std::byte* at, std::uint64_t known, std::uint64_t bytes) {
    for (; known < bytes; known *= 2)
      if (const cudaError_t e = cudaMemcpyAsync(at + known, at, std::min(known, bytes - known),
                                                cudaMemcpyDeviceToDevice, stream);
          e != cudaSuccess)
        return fault("filling device memory", e);
    return {};
  }

  LaunchOutcome put_parts(const PartBuffer& b, Memory& m) {
    std::byte* const payload = m.data + kPartGuard;
    cudaError_t e = cudaMemsetAsync(m.data, 0xff, kPartGuard, stream);
    if (e == cudaSuccess) e = cudaMemsetAsync(payload + b.payload, 0xff, kPartGuard, stream);
    std::vector<std::byte> first(std::min(b.payload, std::uint64_t{1} << 20));
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = static_cast<std::byte>(b.fill >> 8 * (i % b.element));
    if (e == cudaSuccess)
      e = cudaMemcpyAsync(payload, first.data(), first.size(), cudaMemcpyHostToDevice, stream);
    if (e != cudaSuccess) return fault("filling device memory", e);
    if (LaunchOutcome why = repeat(payload, first.size(), b.payload); !why.ok()) return why;
    for (const Part& p : b.given)
      if (e == cudaSuccess)
        e = cudaMemcpyAsync(payload + p.at, p.bytes.data(), p.bytes.size(), cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
    return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
  }

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

DeviceSide::DeviceSide() = default;
DeviceSide::~DeviceSide() = default;

std::string DeviceSide::cannot(const LaunchOptions& options) {
  if (std::string why = unavailable_reason(Backend::cuda); !why.empty()) return why;
  return options.page_end ? DevicePages::cannot(selected_device()) : std::string();
}

LaunchOutcome DeviceSide::begin() {
  if (const cudaError_t e = cudaSetDevice(selected_device()); e != cudaSuccess)
    return fault("selecting the device", e);
  if (!state_) state_ = std::make_unique<State>();
  if (!state_->stream)
    if (const cudaError_t e = cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking);
        e != cudaSuccess)
      return fault("creating a stream", e);
  return {};
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
        // In a larger mapping the end is still the end.
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
          // Until the producer has run, the logits are NaN.
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
  // The worker has closed what it was given something else for.
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

LaunchOutcome DeviceSide::put_parts(Launch& request, const PartBuffers& buffers) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  State& s = *state_;
  std::uint64_t needed = 0;
  for (const PartBuffer& b : buffers)
    if (b.payload > 0) needed += b.payload + 2 * kPartGuard;
  std::size_t have = 0, all = 0;
  if (const cudaError_t e = cudaMemGetInfo(&have, &all); e != cudaSuccess)
    return fault("asking for free memory", e);
  // The worker's context and its own allocations come beside it.
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
    for (Part& p : buffer.wanted)
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

void DeviceSide::free_all() {
  if (!state_) return;
  for (auto& set : state_->memory)
    for (auto& slot : set)
      for (Memory& m : slot) release(m);
  for (Memory& m : state_->retired) release(m);
  state_->retired.clear();
}

double DeviceSide::share() {
  // Without a kernel of its own the clock alone has to do.
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

}  // namespace assay::isolation

#endif
