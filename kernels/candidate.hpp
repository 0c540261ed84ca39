// SPDX-License-Identifier: Apache-2.0
// Runs a variant on images of its buffers. An image is a byte range with guard bands that the caller lays out
// in host memory. A host backend works in place. For CUDA, every whole image, guard bands included, is copied
// to the device and back, so that the caller sees what the kernel really wrote.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/guard.hpp"
#include "kernels/registry.hpp"

namespace assay {

enum class FaultKind : std::int32_t;  // kernels/fault_kind.hpp; {} is none

/// A guarded buffer: `size` bytes at a 256-byte aligned address. The kernel gets the address of [offset,
/// offset + payload), or a null pointer if the image is empty.
class Image {
 public:
  Image() = default;
  Image(std::size_t payload, std::size_t offset, std::size_t guard);

  std::byte* data() const { return bytes_.get(); }
  std::byte* payload() const { return bytes_.get() + offset_; }
  std::size_t size() const { return size_; }
  std::size_t offset() const { return offset_; }
  std::size_t payload_bytes() const { return payload_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0, offset_ = 0, payload_ = 0;
};

/// Buffers are listed in this order everywhere.
struct Images {
  Image logits, probs, indices, m, d, workspace, mask, bias, lengths, temperatures, gradients;
};
inline constexpr int kBuffers = 11;
inline std::array<Image*, kBuffers> buffers_of(Images& i) {
  return {&i.logits, &i.probs,   &i.indices,      &i.m,        &i.d, &i.workspace, &i.mask,
          &i.bias,   &i.lengths, &i.temperatures, &i.gradients};
}

struct LaunchOptions {
  std::uint64_t schedule = 0;   // host executor: order of threads, warps and blocks; 0 is index order
  std::int64_t max_blocks = 0;  // cap on the grid; 0 is the backend's own
  bool in_place = false;        // values are written over the logits; Images::probs stays empty
  // The options below need a Launcher, and not every Launcher has them (Launcher::cannot).
  bool page_end = false;          // every payload ends where its mapping ends: the next page is unmapped
  bool delayed_producer = false;  // the logits are written late, on the launch's own stream
  // Of two launches at once on the host executor: they take turns after each kernel (1), also after each
  // block (2), also after each warp (3). 0: as the operating system lets them run.
  int turns = 0;
  int slot = 0;  // 0 or 1: which of two sets of addresses the buffers use
};

/// Where in a buffer a launch that died touched memory, where that is known.
struct BufferAccess {
  bool read = false;      // it read there; otherwise it wrote, or that is not known
  bool logits = false;    // in the logits; otherwise in another buffer
  std::int64_t byte = 0;  // from the buffer's beginning
  std::int64_t size = 0;  // bytes that the buffer has

  bool operator==(const BufferAccess&) const = default;
};

/// How a launch ended. `fault` is one sentence from the executor, the CUDA runtime or the supervisor; `kind`
/// is the kind of fault. `lost`: the launch shows nothing about the kernel, because memory
/// (FaultKind::memory) or time (FaultKind::time) was lacking.
enum class Ended { normally, lost, fault, crashed, hung };
struct LaunchOutcome {
  std::string fault;
  Ended ended = Ended::normally;
  /// If not empty: which output changed after the stream had reported the launch complete.
  std::string late_write = {};
  /// Host executor: a hash of which kernels were launched and how (executor::dispatch()). Otherwise 0.
  std::uint64_t dispatch = 0;
  FaultKind kind = {};
  std::optional<BufferAccess> access = {};  // of a launch that crashed
  bool ok() const { return fault.empty(); }
};

/// Of a launch whose process no longer ran. More seconds would not help it.
inline constexpr const char* kStoppedBySignal = "its process was stopped by a signal";

/// A launch that shows nothing about the kernel, because what `kind` names was lacking: memory or time.
inline LaunchOutcome lost_for_want(FaultKind kind, std::string why) {
  return {std::move(why), Ended::lost, {}, 0, kind};
}

/// What happened to launches for reasons outside the kernel, perhaps.
struct Disturbance {
  /// A launch hung, was ended by a signal that any process may send, or had to be repeated in a fresh worker.
  /// Its result counts only if it is seen again when the case runs alone.
  bool doubtful = false;
  LaunchOutcome lost;  // a launch that was lost; ok if none was
  std::string saw;     // fault text of the first doubtful launch
  /// Seconds of the worker's own time, not of the clock, that a launch on the host used without ending. Other
  /// processes cannot cause that.
  double own_seconds = 0;
  /// Seconds of the worker's own time that the slowest launch took of those that ended.
  double ended_seconds = 0;
  bool any() const { return doubtful || !lost.ok(); }
};

/// Runs launches outside this process: in a worker that may crash or hang and is then replaced.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Never throws because a kernel fails. After a crash or a hang the images hold what the kernel left in
  /// them, and the next launch uses a fresh worker.
  virtual LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                               const LaunchOptions& options) = 0;
  /// Two launches of the same problem at the same time, each with its own images: on two streams (device) or
  /// two threads (host).
  virtual std::array<LaunchOutcome, 2> launch_both(const Variant& variant, const Problem& problem,
                                                   std::array<Images*, 2> images,
                                                   const LaunchOptions& options) = 0;
  /// Empty, or why these options are not available here: "page_end: device memory".
  virtual std::string cannot(const LaunchOptions& options) const = 0;
  /// True if its kernels run on a GPU.
  virtual bool on_device() const = 0;
  /// What keeps its kernels from the rest of the machine.
  virtual Guard guard() const { return Guard::none; }
  /// Discards the worker: the next launch is the first of a new process.
  virtual void restart() = 0;
  /// Everything since the last call of this function.
  virtual Disturbance disturbance() { return {}; }
  /// From now on, a launch counts as hung after this many times the usual time.
  virtual void be_patient(double /*times*/) {}
};

LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                     const LaunchOptions& options);

/// On the host executor, in this process.
LaunchOutcome launch_on_host(const Variant& variant, const Problem& problem, Images& images,
                             const LaunchOptions& options);
/// What a kernel gets whose buffers lie at these addresses.
Buffers buffers_at(const std::array<void*, kBuffers>& at, bool in_place);

/// Calls a host variant in this process, on the given buffers. What it throws becomes the fault.
LaunchOutcome call_on_host(const Variant& variant, const Problem& problem, const Buffers& buffers,
                           std::uint64_t schedule, std::int64_t max_blocks);

/// True if the variant, registered or a plugin, runs on a GPU.
bool on_device(const Variant& variant);

/// Empty if the variant can be launched here, otherwise the reason: "no GPU: no NVIDIA driver is installed".
std::string cannot_launch(const Variant& variant);

}  // namespace assay
