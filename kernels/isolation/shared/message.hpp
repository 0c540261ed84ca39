// SPDX-License-Identifier: Apache-2.0
// The messages between supervisor and worker. Each is one struct of fixed size, sent over a SOCK_SEQPACKET
// pair. Both ends must be the same build; the greeting proves it. The supervisor takes only sizes, sequence
// numbers and text from a message, because foreign kernels run on the other side.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/candidate.hpp"
#include "kernels/isolation/shared/plain_text.hpp"

namespace assay::isolation {

inline constexpr std::uint64_t kMagic = 0x617373617920'0001;  // "assay", version 1
inline constexpr int kSocket = 3;   // the worker's end; the worker gets no other descriptor beside 0 to 2,
inline constexpr int kLibrary = 4;  // except the library that makes an interpreter a worker
/// Exit status of a worker that can no longer send messages, because a kernel closed its socket.
inline constexpr int kSpeechless = 113;

enum class Kind : std::uint32_t {
  greeting,   // worker: the layout of its messages and memory
  load,       // supervisor: load a key or a shared object
  loaded,     // worker
  describe,   // supervisor: describe entry i
  described,  // worker
  workspace,  // supervisor: how much workspace entry i needs for this problem
  needs,      // worker
  launch,     // supervisor
  done,       // worker
  batch,      // supervisor: make launches one after another
  batched,    // worker
  settle,     // supervisor: is anything still running?
  settled,    // worker
  time,       // supervisor: make launches on its device memory, and say how long they took
  timed,      // worker
  signal,     // worker, from its signal handler: its last words
  warm,       // a process that forks workers (warm_message.hpp) is ready
  fork,       // supervisor
  forked,     // warm process
  reap,       // supervisor
  reaped,     // warm process
};

/// Text in a message. It is cut off if it does not fit, and is read safely whatever the bytes are.
template <std::size_t N>
struct Text {
  char bytes[N] = {};
  void set(std::string_view s) {
    const std::size_t n = std::min(s.size(), N - 1);
    std::memcpy(bytes, s.data(), n);
    std::memset(bytes + n, 0, N - n);
  }
  std::string get() const { return std::string(bytes, strnlen(bytes, N)); }
  /// False if it may have been cut off.
  bool whole() const { return strnlen(bytes, N) + 1 < N; }
  /// The same, fit for a terminal: what a kernel says may be any bytes. It is empty only if the text is: a
  /// text of nothing that can be shown still says that something went wrong.
  std::string plain() const {
    std::string shown = plain_text(get());
    return shown.find_first_not_of(" \n") == shown.npos && bytes[0] ? "it said nothing that can be shown"
                                                                    : shown;
  }
};

/// What a worker says about a launch that went wrong. Empty text if nothing went wrong.
struct Said {
  std::string text;
  FaultKind kind = {};
};

struct Head {
  std::uint64_t magic = kMagic;
  Kind kind = {};
  std::uint32_t sequence = 0;  // of this request, or of the request that this answers
};

/// The names of a launch's buffers, in the order of Images.
inline constexpr std::array<const char*, kBuffers> kBufferNames = {
    "logits", "values", "indices", "row maxima",   "row sums", "workspace",
    "mask",   "bias",   "lengths", "temperatures", "gradients"};

/// Each slot and buffer owns this many bytes of the arena's file and of the worker's address space.
inline constexpr std::uint64_t kRegion = std::uint64_t{1} << 36;
inline constexpr int kSlots = 2;
inline constexpr std::uint64_t region(int slot, int buffer) {
  return kRegion * static_cast<std::uint64_t>(slot * kBuffers + buffer);
}

struct Greeting {
  Head head{.kind = Kind::greeting};
  std::uint32_t largest = 0;  // sizeof(Anything)
  std::uint64_t base = 0;     // where the worker maps region 0
};

struct Load {
  Head head{.kind = Kind::load};
  std::int32_t plugin = 0;  // 1: `name` is the path of a shared object; 0: a key
  std::int32_t device = 0;  // CUDA ordinal
  std::int32_t ahead = 0;   // 1: a kernel of device memory gets its context now, not at the first launch
  Text<4096> name;
};
struct Loaded {
  Head head{.kind = Kind::loaded};
  std::uint32_t count = 0;  // entries
  Text<1024> error;         // empty if it could be loaded
  std::int32_t lacks = 0;   // 1: the error is that the machine lacks something
  Text<64> runtime;         // a library that must be the first one of the worker. Nothing was loaded then
  Text<256> made_of;        // of an interpreter: versions, and where the tensors lie
};

struct Describe {
  Head head{.kind = Kind::describe};
  std::uint32_t entry = 0;
};
struct Described {
  Head head{.kind = Kind::described};
  std::int32_t op = 0;
  std::int32_t device_type = 0;
  std::int32_t needs_workspace = 0;  // 1: it has a function that says how much it needs
  std::int32_t takes_schedule = 0;   // 1: its launches run on the host executor
  Text<72> name;
  Text<8> in, out;
  Text<128> operands;
  Text<8192> declaration;
};

struct Workspace {
  Head head{.kind = Kind::workspace};
  std::uint32_t entry = 0;
  std::int32_t slot = 0;
  Problem problem;
};
struct Needs {
  Head head{.kind = Kind::needs};
  std::uint64_t bytes = 0;
  Text<512> fault;
};

/// One buffer of a launch. The worker maps the first `mapped` bytes of the region, and nothing behind them.
struct Slice {
  std::uint64_t mapped = 0;  // 0 if the problem has no such buffer
  std::uint64_t payload_at = 0;
  std::uint64_t payload = 0;
};

/// The logits of a launch in parts, in host memory. The region is divided into windows of kWindow bytes. Only
/// the windows in `own` have bytes of their own. All others are private copies of one window behind the
/// mapped bytes.
inline constexpr std::uint64_t kWindow = std::uint64_t{2} << 20;
inline constexpr std::uint32_t kOwn = 256;
struct Windows {
  std::uint32_t repeated = 0;  // 1: as above; 0: the whole region has bytes of its own
  std::uint32_t count = 0;
  std::uint32_t own[kOwn] = {};  // ascending
};

/// Host executor: run only the blocks that own these rows, `per_block` rows a block in turn. No rows: all
/// blocks.
inline constexpr std::uint32_t kChosenRows = 16;
struct ChosenRows {
  std::uint32_t count = 0;
  std::int64_t per_block = 0;
  std::int64_t rows[kChosenRows] = {};
};

/// How the worker gets a device buffer that belongs to the supervisor.
struct DeviceBuffer {
  std::uint64_t generation =
      0;  // counts up with every allocation; 0: none. A worker keeps what it has opened.
  std::uint64_t size = 0;
  std::int32_t at_page_end = 0;            // 1: mapped page by page; 0: a cudaMalloc
  std::int32_t descriptor = 0;             // 1: one of the descriptors sent along, in order, is its own
  std::array<unsigned char, 64> handle{};  // cudaIpcMemHandle_t, if it is a cudaMalloc
};

struct Launch {
  Head head{.kind = Kind::launch};
  std::uint32_t entry = 0;
  std::int32_t count = 1;  // 2: two launches at the same time, in slots 0 and 1
  std::int32_t slot = 0;   // the slot of a single launch
  std::int32_t on_device = 0;
  std::int32_t in_place = 0;
  std::int32_t delayed_producer = 0;
  std::int32_t normalizer = 0;      // 1: m and d are asked for
  std::int32_t turns = 0;           // LaunchOptions::turns
  double turn_patience = 0;         // seconds that one of two launches waits for the other
  std::int32_t default_stream = 0;  // 1: the kernel takes no stream
  std::uint64_t schedule = 0;
  std::int64_t max_blocks = 0;
  Problem problem;
  Slice slices[kSlots][kBuffers];
  // On a device the image lies at offset `image_at` and has `stored` bytes.
  std::uint64_t image_at[kSlots][kBuffers] = {};
  std::uint64_t stored[kSlots][kBuffers] = {};
  DeviceBuffer device[kSlots][kBuffers];
  DeviceBuffer staging[kSlots];  // where the logits of a delayed producer wait
  Windows windows;
  ChosenRows chosen;
};
struct Done {
  Head head{.kind = Kind::done};
  Text<512> fault[kSlots];         // empty if it ended well
  std::int32_t kind[kSlots] = {};  // FaultKind
  std::int32_t spoilt = 0;         // 1: the CUDA context can no longer be used
  std::int32_t no_memory = 0;      // 1: the device had no memory left
  std::int32_t others = 0;         // 1: new threads or processes are still alive
  std::int32_t refused = 0;        // 1: the rows cannot be chosen, and nothing ran
  std::uint64_t dispatch = 0;      // LaunchOutcome::dispatch of a single launch

  void say(int n, const Said& said) {
    fault[n].set(said.text);
    kind[n] = static_cast<std::int32_t>(said.kind);
  }
};

/// Launches that are enqueued one after another on one stream, each on its own part of one device buffer.
inline constexpr std::uint32_t kMostBatched = 64;
inline constexpr std::uint64_t kNoBuffer = ~std::uint64_t{0};
struct BatchedLaunch {
  std::uint32_t entry = 0;
  std::int32_t in_place = 0, normalizer = 0, default_stream = 0;  // as in Launch
  std::int64_t max_blocks = 0;
  Problem problem;
  std::uint64_t at[kBuffers] = {};  // bytes from the memory's begin to the payload; kNoBuffer: it has none
  std::uint64_t workspace = 0;      // bytes
};
struct Batch {
  Head head{.kind = Kind::batch};
  std::uint32_t count = 0;
  DeviceBuffer memory;
  BatchedLaunch launches[kMostBatched];
};
struct Batched {
  Head head{.kind = Kind::batched};
  std::int32_t failed = 0;               // 1: all launches must be made again
  std::int32_t lacked = 0;               // 1: for want of memory, or before the first launch
  Text<256> why;                         // of a batch that failed
  std::int32_t kind[kMostBatched] = {};  // FaultKind
  Text<128> fault[kMostBatched];         // what a launch said before it was enqueued; cut off if it is long
};

struct Settle {
  Head head{.kind = Kind::settle};
  std::int32_t on_device = 0;  // 1: wait for all work of the device
};
struct Settled {
  Head head{.kind = Kind::settled};
  std::int32_t spoilt = 0;
  std::int32_t others = 0;  // as in Done
  Text<512> fault;
  std::int32_t kind = 0;  // FaultKind
};

/// Launches in turn on sets of buffers that lie in one piece of the supervisor's device memory (TimedSets).
struct Time {
  Head head{.kind = Kind::time};
  std::uint32_t entry = 0;
  std::int64_t launches = 0;  // 0: close the memory
  std::int64_t first = 0;     // the set of the first launch
  std::int64_t sets = 0;
  std::uint64_t logits = 0, values = 0, indices = 0, workspace = 0;  // bytes of one set
  std::uint64_t cold_bytes = 0;                                      // moved before, not timed
  std::int32_t cold_copies = 0;                                      // 1: copied, not read
  std::int32_t own_stream = 0;                                       // 1: on a stream of the worker's own
  Problem problem;
  DeviceBuffer memory;
};
struct Timed {
  Head head{.kind = Kind::timed};
  double us = 0;  // of all launches
  Text<512> fault;
  std::int32_t kind = 0;       // FaultKind
  std::int32_t spoilt = 0;     // as in Done
  std::int32_t no_memory = 0;  // as in Done
};

struct Signal {
  Head head{.kind = Kind::signal};
  std::int32_t number = 0;
  std::int32_t access = -1;  // 0: read, 1: write, -1: unknown
  std::int32_t sent = 0;     // 1: the process sent it to itself; 2: somebody else sent it; then no address
  std::uint64_t address = 0;
};

union Anything {
  Anything() : head() {}
  Head head;
  Greeting greeting;
  Load load;
  Loaded loaded;
  Describe describe;
  Described described;
  Workspace workspace;
  Needs needs;
  Launch launch;
  Done done;
  Batch batch;
  Batched batched;
  Settle settle;
  Settled settled;
  Time time;
  Timed timed;
  Signal signal;
};
static_assert(std::is_trivially_copyable_v<Anything>);

}  // namespace assay::isolation
