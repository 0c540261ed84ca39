// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/loop.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/shared/channel.hpp"
#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/worker/device.hpp"
#include "kernels/isolation/worker/heap.hpp"
#include "kernels/isolation/worker/second_thread.hpp"

namespace assay::isolation {
namespace {

/// The arena as a worker sees it: exactly the bytes of the launch from each region, always at the same
/// addresses.
class WorkerMemory {
 public:
  /// Reserves addresses for all regions. False if there are none.
  bool reserve();
  void adopt(int file) { file_ = file; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(base_); }

  /// Maps the slices of a launch. Writes where the payloads lie to `at`. Returns a fault, or empty.
  std::string map(int slot, const Slice (&slices)[kBuffers], std::array<void*, kBuffers>& at);
  /// Maps one window again and again over the logits of slot 0, except over windows of their own. It holds
  /// for one launch: the next `map` of that region knows nothing of it. Returns a fault, or empty.
  std::string repeat(const Windows& windows);

 private:
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::uint64_t mapped_[kSlots][kBuffers] = {};
};

bool WorkerMemory::reserve() {
  void* const p =
      mmap(nullptr, region(kSlots, 0), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(p);
  return true;
}

std::string WorkerMemory::map(int slot, const Slice (&slices)[kBuffers], std::array<void*, kBuffers>& at) {
  at = {};
  for (int b = 0; b < kBuffers; ++b) {
    const Slice& s = slices[b];
    std::uint64_t& now = mapped_[slot][b];
    std::byte* const start = base_ + region(slot, b);
    if (s.mapped > now && mmap(start + now, s.mapped - now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                               file_, static_cast<off_t>(region(slot, b) + now)) == MAP_FAILED)
      return "shared memory for the " + std::string(kBufferNames[static_cast<std::size_t>(b)]) +
             " can not be mapped";
    if (s.mapped < now && mmap(start + s.mapped, now - s.mapped, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      return "shared memory for the " + std::string(kBufferNames[static_cast<std::size_t>(b)]) +
             " can not be unmapped";
    now = s.mapped;
    if (s.mapped > 0) at[static_cast<std::size_t>(b)] = start + s.payload_at;
  }
  return {};
}

std::string WorkerMemory::repeat(const Windows& windows) {
  const std::uint64_t mapped = mapped_[0][0];
  const std::uint64_t pattern = region(0, 0) + (mapped + kWindow - 1) / kWindow * kWindow;
  const std::uint32_t* const end = windows.own + std::min(windows.count, kOwn);
  for (std::uint64_t w = 0; w * kWindow < mapped; ++w) {
    if (std::binary_search(windows.own, end, w)) continue;
    if (mmap(base_ + region(0, 0) + w * kWindow, std::min(kWindow, mapped - w * kWindow),
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file_,
             static_cast<off_t>(pattern)) == MAP_FAILED)
      return "shared memory for the logits can not be mapped again and again";
  }
  return {};
}

// Finds out whether a kernel left threads or processes running, which could still write.

/// `count` counts the process's threads. Later, `more` says whether there are more, or any child process.
class Bystanders {
 public:
  /// Makes this process the parent of any descendant whose own parent has ended.
  static void adopt_orphans();
  void count();
  bool more() const;

 private:
  long threads_ = 1;
};

/// Every thread is a folder in /proc/self/task. 0 if that cannot be read.
long threads() {
  struct stat s;
  return stat("/proc/self/task", &s) == 0 ? static_cast<long>(s.st_nlink) - 2 : 0;
}

void Bystanders::adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void Bystanders::count() { threads_ = threads(); }

bool Bystanders::more() const {
  const long now = threads();
  if (now <= 0 || now > threads_) return true;
  siginfo_t info{};
  int r;
  // Finished children do not matter. A running one may hold the shared memory.
  while ((r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG)) == 0 && info.si_pid != 0) info = {};
  return r == 0;
}

class Worker {
 public:
  Worker(OpenKernels open, int socket) : socket_(socket), open_(std::move(open)) {}

  /// Serves until the supervisor is gone.
  int serve() {
    Greeting hello;
    hello.largest = sizeof(Anything);
    hello.base = memory_.reserve() ? memory_.base() : 0;
    if (!answer(hello)) return kSpeechless;
    for (;;) {
      Anything request;
      std::vector<int> descriptors;
      const long length = receive(socket_, request, &descriptors);
      if (length == 0) return 0;
      if (length < 0) return kSpeechless;
      sequence_ = request.head.sequence;
      if (!handle(request, length, descriptors)) return kSpeechless;
    }
  }

 private:
  template <class Message>
  bool answer(Message& m) {
    m.head.sequence = sequence_;
    return send(socket_, m);
  }

  bool handle(const Anything& any, long length, const std::vector<int>& descriptors) {
    if (const Load* r = as<Load>(any, length, sequence_)) {
      if (!descriptors.empty()) memory_.adopt(descriptors[0]);
      return load(*r);
    }
    if (!kernels_) return false;
    if (const Describe* r = as<Describe>(any, length, sequence_)) {
      Described d = kernels_->describe(r->entry);
      return answer(d);
    }
    if (const Workspace* r = as<Workspace>(any, length, sequence_)) return needs(*r);
    if (const Launch* r = as<Launch>(any, length, sequence_)) return launch(*r, descriptors);
    if (const Batch* r = as<Batch>(any, length, sequence_)) return batch(*r);
    if (const Time* r = as<Time>(any, length, sequence_)) return time(*r);
    if (const Settle* r = as<Settle>(any, length, sequence_)) {
      Settled s;
      if (r->on_device) device_.settle(s);
      s.others = bystanders_.more();
      return answer(s);
    }
    std::fprintf(stderr, "the supervisor sent what is no request\n");
    return false;
  }

  bool load(const Load& r) {
    Loaded l;
    device_number_ = r.device;
    // Count before the library is loaded: a thread that its constructors start is a bystander as well.
    second_.start();
    bystanders_.count();
    {
      const HeapWatch watch(r.plugin != 0);
      kernels_ = open_(r, l);
    }
    l.count = kernels_ ? static_cast<std::uint32_t>(kernels_->size()) : 0;
    if (!answer(l)) return false;
    // The supervisor makes its own context meanwhile. If this fails, the first launch says so.
    if (r.ahead && l.count > 0 && kernels_->on_device()) device_.begin(device_number_);
    return true;
  }

  bool needs(const Workspace& r) {
    Needs n;
    try {
      n.bytes = kernels_->workspace_bytes(r.entry, r.problem, device_number_);
    } catch (const std::exception& e) {
      n.fault.set(std::string("workspace_bytes threw an exception: ") + e.what());
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (...) {
      n.fault.set("workspace_bytes threw something that is not a std::exception");
    }
    return answer(n);
  }

  bool launch(const Launch& r, const std::vector<int>& descriptors) {
    Done d;
    if (r.on_device) {
      device_.launch(r, descriptors, device_number_, d,
                     [&](int slot, const std::array<void*, kBuffers>& at, void* stream) {
                       return kernels_->run(r, slot, at, stream, device_number_);
                     });
    } else {
      {
        const HeapWatch watch(kernels_->foreign());
        launch_on_host(r, d);
      }
      if (const std::string overrun = HeapWatch::overrun(); !overrun.empty() && d.fault[0].get().empty())
        d.say(0, {overrun, FaultKind::own_memory_overrun});
      d.others = bystanders_.more();
    }
    return answer(d);
  }

  bool batch(const Batch& r) {
    Batched b;
    device_.batch(r, device_number_, b,
                  [&](const Launch& one, const std::array<void*, kBuffers>& at, void* stream) {
                    return kernels_->run(one, 0, at, stream, device_number_);
                  });
    return answer(b);
  }

  bool time(const Time& r) {
    Launch one;
    one.entry = r.entry;
    one.on_device = 1;
    one.problem = r.problem;
    one.slices[0][5].payload = r.workspace;
    Timed t;
    device_.time(r, device_number_, t, *kernels_, [&](const std::array<void*, kBuffers>& at, void* stream) {
      return kernels_->run(one, 0, at, stream, device_number_);
    });
    return answer(t);
  }

  void launch_on_host(const Launch& r, Done& d) {
    std::array<std::array<void*, kBuffers>, kSlots> at;
    for (int i = 0; i < r.count; ++i) {
      const int slot = r.count == 2 ? i : r.slot;
      if (const std::string fault = memory_.map(slot, r.slices[slot], at[static_cast<std::size_t>(i)]);
          !fault.empty()) {
        d.say(i, {fault, FaultKind::memory});
        return;
      }
      if (r.in_place) at[static_cast<std::size_t>(i)][1] = at[static_cast<std::size_t>(i)][0];
    }
    if (r.windows.repeated)
      if (const std::string fault = memory_.repeat(r.windows); !fault.empty())
        return d.say(0, {fault, FaultKind::memory});
    if (r.chosen.count > 0 && !kernels_->chooses()) {
      d.refused = 1;
      return;
    }
    kernels_->prepare(r);
    if (r.count == 1) {
      d.say(0, kernels_->run(r, r.slot, at[0], nullptr, device_number_));
      d.dispatch = kernels_->dispatch();
      return;
    }
    std::array<Said, 2> faults;
    const int turns = kernels_->take_turns(nullptr) ? r.turns : 0;
    second_.both(turns, r.turn_patience, [&](int i) {
      kernels_->take_turns(turns > 0 ? SecondThread::turn : nullptr);
      faults[static_cast<std::size_t>(i)] =
          kernels_->run(r, i, at[static_cast<std::size_t>(i)], nullptr, device_number_);
      kernels_->take_turns(nullptr);
    });
    for (int i = 0; i < 2; ++i) d.say(i, faults[static_cast<std::size_t>(i)]);
  }

  const int socket_;
  std::uint32_t sequence_ = 0;
  WorkerMemory memory_;
  const OpenKernels open_;
  std::unique_ptr<WorkerKernels> kernels_;
  int device_number_ = 0;
  SecondThread second_;
  Bystanders bystanders_;
  WorkerDevice device_;
};

/// The worker's end under another number, which differs from worker to worker: descriptor 3 would tell a
/// kernel where it is.
int moved_socket() {
  constexpr unsigned kLowest = 64, kHighest = 1000;
  unsigned drawn = 0;
  if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) drawn = static_cast<unsigned>(getpid());
  const int moved = fcntl(kSocket, F_DUPFD_CLOEXEC, static_cast<int>(kLowest + drawn % (kHighest - kLowest)));
  if (moved < 0) return kSocket;  // few descriptors are allowed
  close(kSocket);
  return moved;
}

}  // namespace

void confine() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the supervisor ended before this took effect, its socket is closed and serve() ends at once. This
  // process has no use for anything else that the supervisor had open.
  syscall(SYS_close_range, static_cast<unsigned>(kSocket) + 1, ~0u, 0u);
  // If memory runs out, the OOM killer should choose this process.
  if (std::FILE* f = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", f);
    std::fclose(f);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);
}

int serve(const OpenKernels& open, bool forked) {
  if (forked)
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a fork does not inherit it
  else
    confine();
  Bystanders::adopt_orphans();
  use_signal_stack();
  const int socket = moved_socket();
  report_signals(socket);
  // Never destroyed: what a kernel left running may still use it.
  return (new Worker(open, socket))->serve();
}

}  // namespace assay::isolation
