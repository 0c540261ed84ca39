// Runs a variant on images of its buffers: byte ranges with guard bands, laid out by the caller in host
// memory. A host backend works in place; for CUDA every image travels to the device and back whole, guard
// bands included, so that the caller inspects what the kernel really left behind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/host/fault_kind.hpp"
#include "kernels/registry.hpp"

namespace assay {

/// A guarded buffer: `size` bytes at a 256-byte aligned address; the kernel gets the address of
/// [offset, offset + payload). An empty image is passed as a null pointer.
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

/// In the order in which buffers are counted everywhere.
struct Images {
  Image logits, probs, indices, m, d, workspace, mask, bias, lengths, temperatures, gradients;
};
inline constexpr int kBuffers = 11;
inline std::array<Image*, kBuffers> buffers_of(Images& i) {
  return {&i.logits, &i.probs, &i.indices, &i.m,            &i.d,        &i.workspace,
          &i.mask,   &i.bias,  &i.lengths, &i.temperatures, &i.gradients};
}

struct LaunchOptions {
  std::uint64_t schedule = 0;   // host executor: order of threads, warps and blocks; 0 is index order
  std::int64_t max_blocks = 0;  // cap on the grid; 0 is the backend's own
  bool in_place = false;        // values go where the logits are; Images::probs stays empty
  // The rest is for a Launcher; one that can not do it says so (Launcher::can).
  bool page_end = false;          // every payload ends where its mapping ends: the next page is unmapped
  bool delayed_producer = false;  // the logits arrive on the launch's own stream, late
  int slot = 0;                   // 0 or 1: which of two sets of addresses the buffers lie at
};

/// How a launch ended. `fault` is one sentence: what the executor, the CUDA runtime or the supervisor saw;
/// `kind` is what it was.
/// lost: nothing was shown of the kernel, FaultKind::memory or FaultKind::time was not to be had for it.
enum class Ended { normally, lost, fault, crashed, hung };
struct LaunchOutcome {
  std::string fault;
  Ended ended = Ended::normally;
  /// Not empty: which output changed after the stream said that the launch was over.
  std::string late_write = {};
  /// Host executor: which kernels were launched how (executor::dispatch()); 0 elsewhere.
  std::uint64_t dispatch = 0;
  FaultKind kind = FaultKind::none;
  bool ok() const { return fault.empty(); }
};

/// A launch of which nothing was shown, for want of what `kind` says: memory or time.
inline LaunchOutcome lost_for_want(FaultKind kind, std::string why) {
  return {std::move(why), Ended::lost, {}, 0, kind};
}

/// What befell launches that their kernel need have no part in.
struct Disturbance {
  /// One hung, was ended by a signal that anybody may send, or had to be made again in a fresh worker: what
  /// was seen counts once it is seen again, alone.
  bool doubtful = false;
  LaunchOutcome lost;  // one that was lost; ok where none was
  std::string saw;     // what the first of them was
  /// Seconds of its own time, not of the clock, that one on the host used up without an end: others have no
  /// part in that.
  double own_seconds = 0;
  bool any() const { return doubtful || !lost.ok(); }
};

/// Launches somewhere else than in this process: in a worker that may crash or hang and is then replaced.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Never throws for a failing kernel. After a crash or a hang the images hold what the kernel left behind,
  /// and the next launch finds a fresh worker.
  virtual LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                               const LaunchOptions& options) = 0;
  /// Two launches of the same problem at the same time, each with its own images, on two streams (device) or
  /// two threads (host).
  virtual std::array<LaunchOutcome, 2> launch_both(const Variant& variant, const Problem& problem,
                                                   std::array<Images*, 2> images,
                                                   const LaunchOptions& options) = 0;
  /// Empty, or why these options can not be had here: "page_end: device memory".
  virtual std::string cannot(const LaunchOptions& options) const = 0;
  /// True if its kernels run on a GPU.
  virtual bool on_device() const = 0;
  /// Forgets the worker: the next launch is the first of a process.
  virtual void restart() = 0;
  /// All since this was last asked.
  virtual Disturbance disturbance() { return {}; }
  /// From now on a launch hangs after so many times the usual seconds.
  virtual void be_patient(double /*times*/) {}
};

LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                     const LaunchOptions& options);

/// Calls a host variant in this process, on buffers as they are; what it throws becomes the fault.
LaunchOutcome call_on_host(const Variant& variant, const Problem& problem, const Buffers& buffers,
                           std::uint64_t schedule, std::int64_t max_blocks);

/// True if the variant runs on a GPU, registered or a plugin.
bool on_device(const Variant& variant);

/// Empty if launches of the variant can be made here, else why not: "no GPU: no NVIDIA driver is installed".
std::string cannot_launch(const Variant& variant);

}  // namespace assay
