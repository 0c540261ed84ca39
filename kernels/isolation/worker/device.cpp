// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/device.hpp"

#include "kernels/fault_kind.hpp"

#if !defined(ASSAY_WITH_CUDA)

namespace assay::isolation {

struct WorkerDevice::State {};
WorkerDevice::WorkerDevice() = default;
WorkerDevice::~WorkerDevice() = default;
void WorkerDevice::begin(int) {}
void WorkerDevice::launch(const Launch&, const std::vector<int>&, int, Done& done, const Call&) {
  for (auto& fault : done.fault) fault.set("CUDA: this build has no CUDA side");
}
void WorkerDevice::batch(const Batch&, int, Batched& answer, const BatchCall&) { answer.failed = 1; }
void WorkerDevice::time(const Time& r, int, Timed& timed, const WorkerKernels&, const TimedCall&) {
  if (r.launches > 0) timed.fault.set("CUDA: this build has no CUDA side");
}
void WorkerDevice::settle(Settled&) {}

}  // namespace assay::isolation

#else

#include <cuda_runtime_api.h>
#include <unistd.h>

#include "kernels/candidate.hpp"
#include "kernels/isolation/shared/device_pages.hpp"
#include "kernels/isolation/shared/stopwatch.hpp"
#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::isolation {
namespace {

/// How long the producer of late logits takes, and how long two launches at the same time are held back.
constexpr double kProducerMicroseconds = 20000, kGateMicroseconds = 300;
/// ns in which the interpreter enqueues all launches of a sample, 128 at most.
constexpr std::uint64_t kMostHoldOfPython = 50'000'000;

bool ran_out = false;  // some call has reported it since the launch began

std::string cuda_fault(const char* what, cudaError_t e) {
  cudaGetLastError();
  ran_out = ran_out || e == cudaErrorMemoryAllocation;
  return std::string("CUDA: ") + what + ": " + cudaGetErrorString(e);
}

FaultKind kind_of(cudaError_t e) {
  switch (e) {
    case cudaErrorIllegalAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
      return FaultKind::wild_access;
    case cudaErrorMisalignedAddress:
      return FaultKind::misaligned;
    case cudaErrorMemoryAllocation:
      return FaultKind::memory;
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return FaultKind::bad_launch;
    case cudaErrorAssert:
      return FaultKind::trap;
    case cudaErrorLaunchTimeout:
      return FaultKind::no_answer;
    default:
      return FaultKind::other;
  }
}

/// A launcher that fails with the device nearly full may have asked for memory and dropped the error.
bool nearly_full() {
  std::size_t free = 0, all = 0;
  return cudaMemGetInfo(&free, &all) == cudaSuccess && free < all / 128;
}

}  // namespace

struct WorkerDevice::State {
  /// A buffer of the supervisor, as this process sees it.
  struct Opened {
    std::uint64_t generation = 0;
    std::byte* data = nullptr;
    DevicePages pages;

    void close() {
      if (data && pages.size() == 0) cudaIpcCloseMemHandle(data);
      *this = Opened();
    }
  };

  enum Set { plain, tight, late, sets };
  Opened opened[sets][kSlots][kBuffers];
  Opened timed;    // what launches that are timed work on
  Opened batched;  // what the launches of a batch work on
  Stopwatch watch;
  cudaStream_t streams[kSlots] = {};
  cudaEvent_t events[kSlots] = {}, gate = nullptr;

  std::string prepare(int device) {
    if (const cudaError_t e = cudaSetDevice(device); e != cudaSuccess)
      return cuda_fault("selecting the device", e);
    if (gate) return {};
    int least = 0, greatest = 0;
    if (const cudaError_t e = cudaDeviceGetStreamPriorityRange(&least, &greatest); e != cudaSuccess)
      return cuda_fault("asking for the priorities of streams", e);
    for (int i = 0; i < kSlots; ++i) {
      // Highest priority: work that a launcher leaves on another stream and does not wait for then ends after
      // the work on this stream.
      if (const cudaError_t e = cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, greatest);
          e != cudaSuccess)
        return cuda_fault("creating a stream", e);
      if (const cudaError_t e = cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming);
          e != cudaSuccess)
        return cuda_fault("creating an event", e);
    }
    const cudaError_t e = cudaEventCreateWithFlags(&gate, cudaEventDisableTiming);
    return e == cudaSuccess ? "" : cuda_fault("creating an event", e);
  }

  std::string open(Opened& o, const DeviceBuffer& b, int device, const std::vector<int>& descriptors,
                   std::size_t& next) {
    const int descriptor = b.descriptor && next < descriptors.size() ? descriptors[next++] : -1;
    if (b.generation == 0 || o.generation == b.generation) return {};
    o.close();
    if (b.at_page_end) {
      if (std::string why = o.pages.open(device, b.size, descriptor); !why.empty()) return why;
      o.data = o.pages.data();
    } else {
      cudaIpcMemHandle_t handle;
      std::memcpy(&handle, b.handle.data(), sizeof handle);
      void* p = nullptr;
      if (const cudaError_t e = cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess);
          e != cudaSuccess)
        return cuda_fault("opening the supervisor's device memory", e);
      o.data = static_cast<std::byte*>(p);
    }
    o.generation = b.generation;
    return {};
  }

  /// Opens what the request names, in the order in which descriptors were appended to it.
  std::string open_all(const Launch& r, int device, const std::vector<int>& descriptors,
                       std::array<std::array<void*, kBuffers>, kSlots>& at) {
    std::size_t next = 0;
    for (int n = 0; n < r.count; ++n) {
      const int slot = r.count == 2 ? n : r.slot;
      for (int b = 0; b < kBuffers; ++b) {
        const DeviceBuffer& told = r.device[slot][b];
        Opened& o = opened[told.at_page_end ? tight : plain][slot][b];
        if (std::string why = open(o, told, device, descriptors, next); !why.empty()) return why;
        auto& place = at[static_cast<std::size_t>(n)][static_cast<std::size_t>(b)];
        place = told.generation ? o.data + r.slices[slot][b].payload_at : nullptr;
        if (b == 0)
          if (std::string why = open(opened[late][slot][0], r.staging[slot], device, descriptors, next);
              !why.empty())
            return why;
      }
      if (r.in_place) at[static_cast<std::size_t>(n)][1] = at[static_cast<std::size_t>(n)][0];
    }
    return {};
  }

  std::string produce(const Launch& r, int slot) {
    enqueue_delay(streams[slot], kProducerMicroseconds);
    const std::byte* from = opened[late][slot][0].data;
    std::byte* to = opened[r.device[slot][0].at_page_end ? tight : plain][slot][0].data + r.image_at[slot][0];
    const cudaError_t e =
        cudaMemcpyAsync(to, from, r.stored[slot][0], cudaMemcpyDeviceToDevice, streams[slot]);
    return e == cudaSuccess ? "" : cuda_fault("the producer of the logits", e);
  }

  /// Holds both streams until both launches are enqueued; then they start at the same moment.
  void hold_both() {
    enqueue_delay(streams[0], kGateMicroseconds);
    cudaEventRecord(gate, streams[0]);
    cudaStreamWaitEvent(streams[1], gate, 0);
  }
};

WorkerDevice::WorkerDevice() = default;
WorkerDevice::~WorkerDevice() = default;

void WorkerDevice::begin(int device) {
  if (!state_) state_ = std::make_unique<State>();
  state_->prepare(device);
}

void WorkerDevice::launch(const Launch& r, const std::vector<int>& descriptors, int device, Done& done,
                          const Call& call) {
  const auto all = [&](const std::string& text) {
    for (int n = 0; n < kSlots; ++n) done.say(n, {text, FaultKind::other});
    done.no_memory = ran_out;
  };
  ran_out = false;
  if (!state_) state_ = std::make_unique<State>();
  State& s = *state_;
  std::array<std::array<void*, kBuffers>, kSlots> at{};
  std::string why = s.prepare(device);
  if (why.empty()) why = s.open_all(r, device, descriptors, at);
  for (const int d : descriptors) close(d);
  if (!why.empty()) return all(why);

  // An event on the default stream also waits for the work given to every other blocking stream.
  const auto stream_of = [&](int slot) { return r.default_stream ? nullptr : s.streams[slot]; };
  if (r.count == 2 && !r.default_stream) s.hold_both();
  for (int n = 0; n < r.count; ++n) {
    const int slot = r.count == 2 ? n : r.slot;
    if (r.delayed_producer) why = s.produce(r, slot);
    Said said{why, FaultKind::other};
    if (why.empty()) said = call(slot, at[static_cast<std::size_t>(n)], stream_of(slot));
    if (const cudaError_t e = cudaGetLastError(); said.text.empty() && e != cudaSuccess)
      // For example, the kernel wants more shared memory than there is. Nothing ran.
      said = {cuda_fault("launch", e), e == cudaErrorInvalidValue ? FaultKind::bad_launch : kind_of(e)};
    if (!said.text.empty()) {
      ran_out = ran_out || said.kind == FaultKind::memory || nearly_full();
      done.say(n, said);
    }
    why.clear();
    cudaEventRecord(s.events[slot], stream_of(slot));
  }
  for (int n = 0; n < r.count; ++n) {
    const int slot = r.count == 2 ? n : r.slot;
    if (const cudaError_t e = cudaEventSynchronize(s.events[slot]); e != cudaSuccess) {
      done.say(n, {cuda_fault("kernel", e), kind_of(e)});
      done.spoilt = 1;
    }
  }
  done.no_memory = ran_out;
}

void WorkerDevice::batch(const Batch& r, int device, Batched& answer, const BatchCall& call) {
  if (!state_) state_ = std::make_unique<State>();
  State& s = *state_;
  ran_out = false;
  std::size_t next = 0;
  std::string why = s.prepare(device);
  if (why.empty()) why = s.open(s.batched, r.memory, device, {}, next);
  if (why.empty() && !s.batched.data) why = "no memory was lent";
  const auto fails = [&](const std::string& text) {
    if (!answer.failed) answer.why.set(text);
    answer.failed = 1;
    answer.lacked = answer.lacked || ran_out;
  };
  if (!why.empty()) {
    answer.lacked = 1;
    return fails(why);
  }
  bool on_default = false;
  for (std::uint32_t n = 0; n < std::min(r.count, kMostBatched); ++n) {
    const BatchedLaunch& b = r.launches[n];
    Launch one;
    one.entry = b.entry;
    one.on_device = 1;
    one.in_place = b.in_place;
    one.normalizer = b.normalizer;
    one.max_blocks = b.max_blocks;
    one.problem = b.problem;
    one.slices[0][5].payload = b.workspace;
    std::array<void*, kBuffers> at{};
    for (std::size_t i = 0; i < kBuffers; ++i)
      at[i] = b.at[i] == kNoBuffer ? nullptr : s.batched.data + b.at[i];
    if (b.in_place) at[1] = at[0];
    on_default = on_default || b.default_stream;
    Said said = call(one, at, b.default_stream ? nullptr : s.streams[0]);
    if (const cudaError_t e = cudaGetLastError(); said.text.empty() && e != cudaSuccess)
      said = {cuda_fault("launch", e), e == cudaErrorInvalidValue ? FaultKind::bad_launch : kind_of(e)};
    if (said.text.empty()) continue;
    // A launch that found the memory full may have kept others from theirs.
    if (said.kind == FaultKind::memory || nearly_full()) ran_out = true, fails(said.text);
    answer.fault[n].set(said.text);
    answer.kind[n] = static_cast<std::int32_t>(said.kind);
  }
  cudaEventRecord(s.events[0], s.streams[0]);
  if (on_default) cudaEventRecord(s.events[1], nullptr);
  for (int n = 0; n <= (on_default ? 1 : 0); ++n)
    if (const cudaError_t e = cudaEventSynchronize(s.events[n]); e != cudaSuccess)
      fails(cuda_fault("kernel", e));
}

void WorkerDevice::time(const Time& r, int device, Timed& timed, const WorkerKernels& kernels,
                        const TimedCall& call) {
  ran_out = false;
  if (!state_) state_ = std::make_unique<State>();
  State& s = *state_;
  if (r.launches <= 0 || r.sets <= 0) return s.timed.close();
  Said said;
  std::size_t next = 0;
  said.text = s.prepare(device);
  if (said.text.empty()) said.text = s.open(s.timed, r.memory, device, {}, next);
  if (said.text.empty() && !s.timed.data) said.text = "no memory was lent";
  if (!said.text.empty()) {
    said.kind = FaultKind::other;
  } else {
    const TimedSets sets{s.timed.data, r.memory.size, 0, r.sets, r.logits, r.values, r.indices, r.workspace};
    // Of the kinds that a check makes launches on. Work that a launcher puts elsewhere by mistake runs beside
    // a stream of this process's own, and looks free: the supervisor's clock sees it.
    const cudaStream_t stream = r.own_stream ? s.streams[0] : nullptr;
    const auto enqueue = [&](std::int64_t from, std::int64_t launches) {
      for (std::int64_t i = 0; i < launches && said.text.empty(); ++i) {
        const TimedSets::At set = sets.at((from + i) % r.sets);
        std::array<void*, kBuffers> at{};
        at[0] = s.timed.data + set.logits;
        at[1] = r.values > 0 ? s.timed.data + set.values : nullptr;
        at[2] = r.indices > 0 ? s.timed.data + set.indices : nullptr;
        at[5] = r.workspace > 0 ? s.timed.data + set.workspace : nullptr;
        said = call(at, stream);
      }
    };
    kernels.begin_timed();
    const Stopwatch::Failed failed = s.watch.time(
        stream, {r.cold_bytes, r.cold_copies != 0}, timed.us, [&] { enqueue(r.first, r.launches); },
        kernels.interpreted() ? kMostHoldOfPython : Stopwatch::kMostHold);
    if (const Said late = kernels.end_timed(); said.text.empty()) said = late;
    if (failed && said.text.empty()) said = {cuda_fault(failed.call, failed.error), kind_of(failed.error)};
    // What the kernel put on other streams may fail after its own stream is done.
    const cudaError_t after = cudaDeviceSynchronize();
    timed.spoilt = after != cudaSuccess;
    if (timed.spoilt && said.text.empty()) said = {cuda_fault("after the launches", after), kind_of(after)};
  }
  if (said.text.empty()) return;
  timed.fault.set(said.text);
  timed.kind = static_cast<std::int32_t>(said.kind);
  timed.no_memory = ran_out || said.kind == FaultKind::memory || nearly_full();
}

void WorkerDevice::settle(Settled& settled) {
  // An error that does not belong to one call stays: the context can no longer be used.
  if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) {
    settled.fault.set(cuda_fault("after the launch", e));
    settled.kind = static_cast<std::int32_t>(kind_of(e));
    settled.spoilt = 1;
  }
}

}  // namespace assay::isolation

#endif
