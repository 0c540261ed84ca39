// The executor of one OS thread: the fibers that a kernel's threads run on, and which of them runs next.
// executor.cpp runs blocks and warps. rendezvous.cpp handles the places where threads wait for each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/block_choice.hpp"
#include "kernels/host/collectives.hpp"
#include "kernels/host/lanes.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

/// Thrown in a fiber to unwind it after its launch has faulted.
struct Abandon {};

class Executor {
 public:
  Executor() { main_.adopt_current_thread(); }
  ~Executor();

  void run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*), const void* argument);
  // Every wait of a kernel goes through these, so they are one with their only callers, in rendezvous.cpp.
  inline int barrier(Barrier kind, int predicate, const Site& site);
  inline std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int argument,
                                  int width, const Site& site);
  unsigned active() const { return warps_[running_->index / 32].alive; }
  void* shared(const void* tag, std::size_t bytes, std::size_t align);
  void* dynamic() { return pool().memory.dynamic(); }

  Schedule schedule;
  BlockChoice choice;
  std::uint64_t dispatched = 0;

 private:
  Pool& pool() { return pools_[kPools == 1 ? 0 : which_]; }
  Lane& lane_at(std::size_t thread) { return *pool().lanes[thread]; }

  /// A warp collective is complete when all threads of its mask that have not exited have arrived (CUDA
  /// guide).
  static bool complete(const Warp& warp, const Warp::Group& group) {
    return group.arrived == (group.mask & warp.alive);
  }
  /// The group that this lane waits in, or null if it waits in none.
  static Warp::Group* group_of(Warp& warp, unsigned bit) {
    for (unsigned i = 0; i < warp.group_count; ++i)
      if (warp.groups[i].arrived & bit) return &warp.groups[i];
    return nullptr;
  }

  void check(const Dim3& grid, const Dim3& block, std::size_t dynamic) const;
  void prepare(const Dim3& grid, const Dim3& block);
  void place_lanes();
  std::unique_ptr<Lane> make_lane();
  /// What the fiber of a lane runs: the kernel, once for each block.
  SwitchTarget* live(Lane& self);

  void enter(SwitchTarget& from, Lane& lane) {
    running_ = &lane;
    current = &lane.identity;
    lane.begun = true;
    SwitchTarget::between(from, lane);
  }

  /// Continues with the next runnable lane of the same warp in its order. If there is none, with the
  /// scheduler.
  void go_on(Lane& lane) {
    const unsigned w = lane.index / 32;
    const std::vector<unsigned>& order = lane_order_[w];
    if (warps_[w].runnable != 0 && error_.empty()) {
      const auto lanes = static_cast<unsigned>(order.size());
      for (unsigned i = 1, at = lane.position; i <= lanes; ++i) {
        if (++at >= lanes) at = 0;
        if (!(warps_[w].runnable >> order[at] & 1)) continue;
        Lane& next = lane_at(32 * w + order[at]);
        if (&next != &lane) enter(lane, next);
        return;
      }
    }
    SwitchTarget::between(lane, main_);
  }
  void yield(Lane& lane) {
    go_on(lane);
    if (!error_.empty()) throw Abandon{};
  }
  /// Called when the thread has returned from the kernel.
  void finish(Lane& lane);

  void run_block(const Dim3& index);
  /// Runs the warp until every lane of it is waiting or done. False if no lane could run.
  bool run_warp(unsigned w);

  void open_barrier();
  /// Gives every lane that arrived its result and makes it runnable.
  inline void close(Warp& warp, Warp::Group& open, unsigned base);
  /// Makes what the lanes of the mask did before their __syncwarp visible to all of them after it.
  inline void order_memory(unsigned base, unsigned mask);

  // Out of line and cold: their strings would enlarge the stack frame of every waiting thread.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* what, FaultKind kind = FaultKind::divergence);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_width(int width);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_read(unsigned base, BadRead bad, bool named);

  /// Records the first fault, and where every unfinished thread of the block is.
  [[gnu::cold, gnu::noinline]] void describe(const std::string& what, FaultKind kind = FaultKind::divergence);
  /// Unwinds every suspended fiber, so that the pool is clean for the next launch.
  void abandon();
  std::string take_error() { return std::exchange(error_, std::string()); }

  std::array<Pool, kPools> pools_;
  unsigned which_ = 0;  // index of the running block's pool
  std::vector<Warp> warps_;
  std::vector<unsigned> warp_order_;
  std::vector<std::vector<unsigned>> lane_order_;
  SwitchTarget main_;  // the scheduler
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  std::size_t dynamic_ = 0;
  unsigned threads_ = 0, alive_ = 0, arrived_ = 0;
  Barrier barrier_kind_ = Barrier::plain;
  const Site* barrier_site_ = nullptr;
  int barrier_count_ = 0;
  int barrier_result_ = 0;
  unsigned barrier_turn_ = 0;
  Lane* running_ = nullptr;
  std::string error_;
  FaultKind error_kind_ = FaultKind::none;
  bool quit_ = false;
};

// A raw pointer beside its owner: kernels read it at every barrier and shuffle, and reading it needs no
// initialisation guard.
extern constinit thread_local Executor* instance;
/// Makes the executor of this OS thread.
Executor& make_executor();
inline Executor& executor() { return instance ? *instance : make_executor(); }

}  // namespace assay::executor
