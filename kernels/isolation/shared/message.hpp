// What supervisor and worker say to each other: one fixed-size struct per message over a SOCK_SEQPACKET pair.
// Both ends are the same build, which the greeting proves. The supervisor believes nothing but sizes,
// sequence numbers and text out of it: kernels of strangers live on the other side.
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

namespace assay::isolation {

inline constexpr std::uint64_t kMagic = 0x617373617920'0001;  // "assay", version 1
inline constexpr int kSocket = 3;   // the worker's end, and the only descriptor it is given beside 0 to 2
inline constexpr int kLibrary = 4;  // but for the library that makes an interpreter a worker
/// Exit status of a worker that can no longer speak: a kernel closed its socket.
inline constexpr int kSpeechless = 113;

enum class Kind : std::uint32_t {
  greeting,   // worker: the layout of messages and memory
  load,       // supervisor: a key or a shared object
  loaded,     // worker
  describe,   // supervisor: what does entry i say of itself
  described,  // worker
  workspace,  // supervisor: how much does entry i need for this problem
  needs,      // worker
  launch,     // supervisor
  done,       // worker
  settle,     // supervisor: is anything still at work?
  settled,    // worker
  signal,     // worker, out of a signal handler: its last words
  warm,       // a process that forks workers (warm_message.hpp): it is ready
  fork,       // supervisor
  forked,     // warm process
  reap,       // supervisor
  reaped,     // warm process
};

/// Text in a message: cut off where it does not fit, read safely whatever the bytes are.
template <std::size_t N>
struct Text {
  char bytes[N] = {};
  void set(std::string_view s) {
    const std::size_t n = std::min(s.size(), N - 1);
    std::memcpy(bytes, s.data(), n);
    std::memset(bytes + n, 0, N - n);
  }
  std::string get() const { return std::string(bytes, strnlen(bytes, N)); }
};

/// What a worker says of a launch that went wrong. An empty text: nothing did.
struct Said {
  std::string text;
  FaultKind kind = FaultKind::none;
};
/// Any number that came out of a message.
inline FaultKind fault_kind_of(std::int32_t n) {
  return n >= 0 && n < kFaultKinds ? static_cast<FaultKind>(n) : FaultKind::other;
}

struct Head {
  std::uint64_t magic = kMagic;
  Kind kind = {};
  std::uint32_t sequence = 0;  // of the request that this is, or answers
};

/// Buffers of a launch, in the order of Images.
inline constexpr std::array<const char*, kBuffers> kBufferNames = {
    "logits", "values", "indices", "row maxima",   "row sums", "workspace",
    "mask",   "bias",   "lengths", "temperatures", "gradients"};

/// Each slot and buffer owns this many bytes of the arena's file and of the worker's addresses.
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
  std::int32_t plugin = 0;  // 1: `name` is a shared object's path, else a key
  std::int32_t device = 0;  // CUDA ordinal
  Text<4096> name;
};
struct Loaded {
  Head head{.kind = Kind::loaded};
  std::uint32_t count = 0;  // entries
  Text<1024> error;         // empty: it could be loaded
  std::int32_t lacks = 0;   // 1: the error is that this machine lacks something
  Text<256> made_of;        // an interpreter's: versions, and where the tensors lie
};

struct Describe {
  Head head{.kind = Kind::describe};
  std::uint32_t entry = 0;
};
struct Described {
  Head head{.kind = Kind::described};
  std::int32_t op = 0;
  std::int32_t device_type = 0;
  std::int32_t needs_workspace = 0;  // it has a function that says how much
  std::int32_t takes_schedule = 0;   // its launches run on the host executor
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

/// One buffer of a launch. The worker maps the first `mapped` bytes of the region; nothing lies behind them.
struct Slice {
  std::uint64_t mapped = 0;  // 0: the problem has no such buffer
  std::uint64_t payload_at = 0;
  std::uint64_t payload = 0;
};

/// The logits of a launch in parts, in host memory: of the region's windows of kWindow bytes only those of
/// `own` exist, every other one is a private copy of the one that lies behind the mapped bytes.
inline constexpr std::uint64_t kWindow = std::uint64_t{2} << 20;
inline constexpr std::uint32_t kOwn = 256;
struct Windows {
  std::uint32_t repeated = 0;  // 1: as above; 0: all of the region is its own
  std::uint32_t count = 0;
  std::uint32_t own[kOwn] = {};  // ascending
};

/// Host executor: run the blocks that own these rows, `per_block` rows a block in turn; none: all blocks.
inline constexpr std::uint32_t kChosenRows = 16;
struct ChosenRows {
  std::uint32_t count = 0;
  std::int64_t per_block = 0;
  std::int64_t rows[kChosenRows] = {};
};

/// How the worker gets a device buffer of the supervisor's.
struct DeviceBuffer {
  std::uint64_t generation =
      0;  // counts up with every allocation; 0: none. A worker keeps what it has opened.
  std::uint64_t size = 0;
  std::int32_t at_page_end = 0;            // 1: mapped page by page; else a cudaMalloc
  std::int32_t descriptor = 0;             // 1: one of the descriptors that travel along, in order, is its
  std::array<unsigned char, 64> handle{};  // cudaIpcMemHandle_t of a cudaMalloc
};

struct Launch {
  Head head{.kind = Kind::launch};
  std::uint32_t entry = 0;
  std::int32_t count = 1;  // 2: two at the same time, in slots 0 and 1
  std::int32_t slot = 0;   // of the only one
  std::int32_t on_device = 0;
  std::int32_t in_place = 0;
  std::int32_t delayed_producer = 0;
  std::int32_t normalizer = 0;      // m and d are asked for
  std::int32_t default_stream = 0;  // the kernel takes no stream
  std::uint64_t schedule = 0;
  std::int64_t max_blocks = 0;
  Problem problem;
  Slice slices[kSlots][kBuffers];
  // On a device the image lies at `image_at` and has `stored` bytes.
  std::uint64_t image_at[kSlots][kBuffers] = {};
  std::uint64_t stored[kSlots][kBuffers] = {};
  DeviceBuffer device[kSlots][kBuffers];
  DeviceBuffer staging[kSlots];  // where late logits wait
  Windows windows;
  ChosenRows chosen;
};
struct Done {
  Head head{.kind = Kind::done};
  Text<512> fault[kSlots];         // empty: it ended well
  std::int32_t kind[kSlots] = {};  // FaultKind
  std::int32_t spoilt = 0;         // the CUDA context is of no more use
  std::int32_t no_memory = 0;      // the device had none left
  std::int32_t others = 0;         // threads or processes that were not there before are still alive
  std::int32_t refused = 0;        // the rows can not be chosen: nothing was run
  std::uint64_t dispatch = 0;      // LaunchOutcome::dispatch of a single launch

  void say(int n, const Said& said) {
    fault[n].set(said.text);
    kind[n] = static_cast<std::int32_t>(said.kind);
  }
};

struct Settle {
  Head head{.kind = Kind::settle};
  std::int32_t on_device = 0;  // 1: wait for everything the device still has to do
};
struct Settled {
  Head head{.kind = Kind::settled};
  std::int32_t spoilt = 0;
  std::int32_t others = 0;  // as in Done
  Text<512> fault;
  std::int32_t kind = 0;  // FaultKind
};

struct Signal {
  Head head{.kind = Kind::signal};
  std::int32_t number = 0;
  std::int32_t access = -1;  // 0: read, 1: write, -1: not known
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
  Settle settle;
  Settled settled;
  Signal signal;
};
static_assert(std::is_trivially_copyable_v<Anything>);

}  // namespace assay::isolation
