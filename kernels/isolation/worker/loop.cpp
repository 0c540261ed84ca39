// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/loop.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "kernels/isolation/shared/channel.hpp"
#include "kernels/isolation/worker/bystanders.hpp"
#include "kernels/isolation/worker/device.hpp"
#include "kernels/isolation/worker/heap.hpp"
#include "kernels/isolation/worker/last_words.hpp"
#include "kernels/isolation/worker/memory.hpp"
#include "kernels/isolation/worker/second_thread.hpp"

namespace assay::isolation {
namespace {

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
    return answer(l);
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
  constexpr unsigned kLeast = 64, kMost = 1000;
  unsigned drawn = 0;
  if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) drawn = static_cast<unsigned>(getpid());
  const int moved = fcntl(kSocket, F_DUPFD_CLOEXEC, static_cast<int>(kLeast + drawn % (kMost - kLeast)));
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
