// SPDX-License-Identifier: Apache-2.0
// Runs a variant on images of its buffers. An image is a byte range with guard bands that the caller lays out
// in host memory. A host backend works in place. For CUDA, every whole image, guard bands included, is copied
// to the device and back, so that the caller sees what the kernel really wrote.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  /// What it took, without waiting for launches of other threads. 0: not known.
  std::chrono::nanoseconds took{0};
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

// Launches on buffers of many gigabytes. Only parts of them are written before the launch and checked after
// it. The supervisor never holds or copies anything as large as a buffer. In host memory only the wanted
// parts of an output hold the fill value, because a page that nobody touches costs nothing.

/// The bytes at an offset of a buffer's payload.
struct BufferPart {
  std::uint64_t at = 0;
  std::vector<std::byte> bytes;
};

/// One buffer. A buffer without a payload is absent.
struct PartBuffer {
  std::uint64_t payload = 0;       // bytes
  std::size_t element = 1;         // bytes of `fill`: 1, 2, 4 or 8
  std::uint64_t fill = 0;          // the value of every element outside `given`
  std::vector<BufferPart> given;   // in ascending order
  std::vector<BufferPart> wanted;  // the caller sets their sizes, the launch fills in their bytes
};

/// In the order of Images: logits, values, indices, m, d, workspace.
using PartBuffers = std::array<PartBuffer, kBuffers>;

struct PartOptions {
  /// Host executor only: the rows whose blocks run. Blocks own rows in turn, `rows_per_block` rows each. If
  /// `rows` is empty, all blocks run. At most kMostRows.
  std::vector<std::int64_t> rows;
  std::int64_t rows_per_block = 0;
  double seconds = 120;       // after these it counts as hung
  bool keeps_worker = false;  // of one launch of several that are no test of what a process keeps
  static constexpr std::size_t kMostRows = 16;
};

struct PartOutcome {
  LaunchOutcome launch;
  std::string guard;     // which bytes beside a buffer were overwritten, or empty
  std::string no_room;   // why there was no launch, or empty
  FaultKind wants = {};  // memory, if the launch did not happen for lack of it
  double seconds = 0;    // from the request to its answer
};

// Launches that are timed in the worker, on device memory of this process. The worker's events tell how long
// they took; this process's clock bounds what they may tell. What they wrote is read and judged here, where
// no foreign code runs.

/// Sets of buffers in one piece of memory: first the logits of every set, then the values and indices of each
/// set, then all workspaces. Both sides compute it. The members are bytes of one set, each a multiple of 256.
struct TimedSets {
  void* memory = nullptr;  // what cudaMalloc gave
  std::uint64_t size = 0;
  int generation = 0;  // another one whenever the memory was replaced
  std::int64_t count = 1;
  std::uint64_t logits = 0, values = 0, indices = 0, workspace = 0;

  struct At {
    std::uint64_t logits = 0, values = 0, indices = 0, workspace = 0;
  };
  /// Where the buffers of a set lie.
  At at(std::int64_t set) const {
    const auto n = static_cast<std::uint64_t>(set), all = static_cast<std::uint64_t>(count);
    const std::uint64_t outputs = all * logits + n * (values + indices);
    return {n * logits, outputs, outputs + values, all * (logits + values + indices) + n * workspace};
  }
};

struct TimedLaunches {
  std::int64_t first = 0;  // the set of the first launch; the others follow in turn
  std::int64_t count = 1;
  std::uint64_t cold_bytes = 0;  // so many other bytes are moved before the first launch, not timed
  bool cold_copies = false;      // they are copied, half of them to the other half, not read
  bool own_stream = false;       // on a stream of the worker's own, as most launches of a check are
};

struct TimedOutcome {
  double us = 0;  // of all launches, as the worker says
  LaunchOutcome launch = {};
  /// By this process: from the request to the answer, and the worker's processor time of it. Both are larger
  /// than what belongs to the launches. No processor time: the system does not tell.
  double waited_us = 0;
  std::optional<double> processor_us = {};
  bool only_last = false;  // only the outputs of the last launch are in its buffers
};

namespace isolation {

/// A file that a worker has mapped (kernels/isolation/loaded/loaded_files.hpp).
struct LoadedFile {
  /// "library" (it can be executed), "module" (Python's source), "data", "package" (of Python: its name and
  /// version), "runtime" (libraries of the system and the interpreter: how many).
  std::string role;
  std::string path;    // absolute; of a package its name, version and folder
  std::string sha256;  // of a package: of its list of files (RECORD); of `runtime`: of names and sizes.
                       // Empty: not known
};

}  // namespace isolation

/// While one exists, launches of its thread may be made together with those of other threads, where the
/// launcher can do so (Launcher::shares_launches): one after another on one stream.
class LaunchesTogether {
 public:
  explicit LaunchesTogether(bool wanted = true) : before_(std::exchange(now(), wanted)) {}
  ~LaunchesTogether() { now() = before_; }
  LaunchesTogether(const LaunchesTogether&) = delete;
  LaunchesTogether& operator=(const LaunchesTogether&) = delete;
  static bool wanted() { return now(); }

 private:
  static bool& now() {
    thread_local bool together = false;
    return together;
  }
  const bool before_;
};

/// While one exists, launches of its thread are made only as long as they are wanted. A launch that had to
/// wait for others, and that nobody wants any more, is not made: its outcome is not_made().
class LaunchesWhile {
 public:
  explicit LaunchesWhile(std::function<bool()> wanted)
      : wanted_(std::move(wanted)), before_(std::exchange(now(), this)) {}
  ~LaunchesWhile() { now() = before_; }
  LaunchesWhile(const LaunchesWhile&) = delete;
  LaunchesWhile& operator=(const LaunchesWhile&) = delete;
  /// False if the next launch of this thread is not to be made.
  static bool go_on() {
    if (!now() || now()->wanted_()) return true;
    now()->left_ = true;
    return false;
  }
  /// True if a launch was not made.
  bool left() const { return left_; }

 private:
  static LaunchesWhile*& now() {
    thread_local LaunchesWhile* one = nullptr;
    return one;
  }
  const std::function<bool()> wanted_;
  LaunchesWhile* const before_;
  bool left_ = false;
};
inline LaunchOutcome not_made() { return {"left: nobody wants it any more", Ended::lost}; }

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

  // What follows only a worker process can do, unless it is said otherwise.

  /// Variants of the same name and op at other types, in the same process. What one of them leaves behind,
  /// another may find.
  virtual std::vector<Variant> siblings() const { return {}; }
  /// Applies `declare` to each of them: what the author declares for this variant holds for them too.
  virtual void declare_siblings(std::function<void(Variant&)> /*declare*/) {}
  /// True if several threads may use it at the same time, because it makes their launches together.
  virtual bool shares_launches() const { return false; }
  /// How many parallel workers are worth their start. 0: as many as there are threads.
  virtual int most_workers() const { return 0; }
  virtual bool launches_parts() const { return false; }
  /// Launches on buffers of which only parts are written and checked, in a fresh worker, which is ended
  /// afterwards. Never throws because a kernel fails.
  virtual PartOutcome launch_parts(const Variant& /*variant*/, const Problem& /*problem*/,
                                   PartBuffers& /*buffers*/, const PartOptions& /*options*/) {
    PartOutcome none;
    none.no_room = "it makes no launches in parts";
    none.launch = {none.no_room, Ended::fault};
    return none;
  }
  /// Empty, or why its launches are not timed here.
  virtual std::string cannot_time() const { return "its launches are not timed"; }
  /// Never throws because a kernel fails. After a crash or a hang the next call uses a fresh worker.
  virtual TimedOutcome time(const Variant& /*variant*/, const Problem& /*problem*/, const TimedSets& /*sets*/,
                            const TimedLaunches& /*launches*/) {
    return {0, {cannot_time(), Ended::fault}};
  }
  /// Call it before the memory is freed or replaced.
  virtual void forget_sets() {}
  /// Which files its workers have mapped.
  virtual std::vector<isolation::LoadedFile> loaded_files() const { return {}; }
  /// Of what the kernel's file says of its kernels; empty if it does not.
  virtual std::string description_sha256() const { return {}; }
  /// Of the shared object that was loaded; empty if it is none.
  virtual std::string loaded_sha256() const { return {}; }
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
