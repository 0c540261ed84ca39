// SPDX-License-Identifier: Apache-2.0
// The executor of one OS thread: the fibers that a kernel's threads run on, and which of them runs next.
// executor.cpp runs clusters, blocks and warps. rendezvous.cpp handles the places where threads wait for each
// other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/fault_kind.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/host/lanes.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

// Computes what each lane gets from a warp collective. `mask` below holds the lanes that take part: the live
// lanes of the collective's mask, all of which have arrived. All results are computed at that moment, because
// a lane that wakes late must not see values that others bring to a later collective.

/// A lane whose shuffle reads a lane (`source`) that takes no part.
struct BadRead {
  unsigned lane, source;
};

template <class Source>
std::optional<BadRead> shuffle(unsigned mask, const std::uint64_t* values, std::uint64_t* results,
                               Source source_of) {
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned source = source_of(lane);
    if (!(mask >> source & 1)) return BadRead{lane, source};
    results[lane] = values[source];
  }
  return std::nullopt;
}

/// Fills results[lane] for every lane of the mask. `arguments` are the shuffles' source lanes, deltas or lane
/// masks. `width` is a power of two up to 32.
inline std::optional<BadRead> deliver(Collective kind, unsigned mask, unsigned width,
                                      const std::uint64_t* values, const int* arguments,
                                      std::uint64_t* results) {
  const unsigned segment = ~(width - 1);  // lane & segment: the first lane of its segment
  const auto number = [&](unsigned lane) { return static_cast<unsigned>(arguments[lane]); };
  switch (kind) {
    case Collective::sync:
      return std::nullopt;
    case Collective::shfl:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return (l & segment) + (number(l) & (width - 1)); });
    case Collective::shfl_up:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return l - (l & segment) < number(l) ? l : l - number(l); });
    case Collective::shfl_down:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return number(l) >= (l & segment) + width - l ? l : l + number(l); });
    case Collective::shfl_xor:
      // A lane may read a lane of an earlier segment. For a lane of a later segment it gets its own value.
      return shuffle(mask, values, results, [&](unsigned l) {
        return (l ^ number(l)) >= (l & segment) + width ? l : l ^ number(l);
      });
    default:
      break;
  }
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  std::uint64_t r = kind == Collective::min || kind == Collective::bit_and ? ~std::uint64_t{0} : 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t v = values[lane];
    const std::uint64_t bit = std::uint64_t{1} << lane;
    switch (kind) {
      case Collective::ballot:
      case Collective::all:
      case Collective::any:
        r |= v != 0 ? bit : 0;
        break;
      case Collective::match_all:
        r |= v == values[first] ? bit : 0;
        break;
      case Collective::match_any:
        results[lane] = 0;
        for (unsigned other = mask; other; other &= other - 1)
          if (values[std::countr_zero(other)] == v) results[lane] |= other & -other;
        break;
      case Collective::add:
        r += v;
        break;
      case Collective::min:
        r = std::min(r, v);
        break;
      case Collective::max:
        r = std::max(r, v);
        break;
      case Collective::bit_and:
        r &= v;
        break;
      case Collective::bit_or:
        r |= v;
        break;
      default:
        r ^= v;
        break;
    }
  }
  if (kind == Collective::match_any) return std::nullopt;
  if (kind == Collective::all) r = r == mask;
  if (kind == Collective::any) r = r != 0;
  if (kind == Collective::match_all) r = r == mask ? r : 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) results[std::countr_zero(rest)] = r;
  return std::nullopt;
}

/// Thrown in a fiber to unwind it after its launch has faulted.
struct Abandon {};

struct ScheduleRandom {  // splitmix64
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

class Executor {
 public:
  Executor() { main_.adopt_current_thread(); }
  ~Executor();

  void run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*), const void* argument,
           unsigned cluster);
  // Every wait of a kernel goes through these, so they are one with their only callers, in rendezvous.cpp.
  inline int barrier(Barrier kind, int predicate, const Site& site);
  inline std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int argument,
                                  int width, const Site& site);
  void* peer(void* own, int rank, const Site& site);
  void arrive(bool release, const Site& site);
  void wait(const Site& site);
  void start(void* word, int arrivals, const Site& site);
  void expect(void* word, int bytes, const Site& site);
  void wait_for(void* word, unsigned parity, const Site& site);
  void send(const Transfer& t, void* word, const Site& site);
  unsigned active() const { return warp_of(*running_).alive; }
  void* shared(const void* tag, std::size_t bytes, std::size_t align);
  void* dynamic() { return running_->home->memory.dynamic(); }

  Schedule schedule;
  BlockChoice choice;
  std::uint64_t dispatched = 0;
  void (*take_turn)(int step) = nullptr;  // take_turns

 private:
  static Warp& warp_of(const Lane& lane) { return lane.home->warps[lane.index / 32]; }
  static Lane& lane_at(Block& block, std::size_t thread) { return *block.lanes[thread]; }

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

  void check(const Dim3& grid, const Dim3& block, std::size_t dynamic, unsigned cluster) const;
  void prepare(Block& on, const Dim3& grid, const Dim3& block);
  void order_in_turn();
  void permute_order(ScheduleRandom& random);
  void place_lanes(Block& block);
  static std::unique_ptr<Lane> make_lane(Block& home);
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
    const Warp& warp = warp_of(lane);
    const std::vector<unsigned>& order = lane_order_[w];
    if (warp.runnable != 0 && error_.empty()) {
      const auto lanes = static_cast<unsigned>(order.size());
      for (unsigned i = 1, at = lane.position; i <= lanes; ++i) {
        if (++at >= lanes) at = 0;
        if (!(warp.runnable >> order[at] & 1)) continue;
        Lane& next = lane_at(*lane.home, 32 * w + order[at]);
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

  void begin(Block& block, const Dim3& index);
  /// Called when the last thread of a block has exited.
  void end(Block& block);
  /// Runs the blocks of team_ to their ends.
  void run_team();
  /// Runs the warp until every lane of it is waiting or done. False if no lane could run.
  bool run_warp(Block& block, unsigned w);

  static void open_barrier(Block& block);
  void open_cluster_barrier();
  /// The mbarrier of `block` with this word, which the running thread may use.
  Mbarrier& known(Block& block, void* word);
  /// The block of the cluster whose shared memory has this address; fails if there is none or it has ended.
  Block& block_with(const void* p);
  /// The block before this one used the same memory. That is no race.
  static void order_after_last(Block& block) { sanitizers::acquire(&block.end_edge[(block.turn + 1) % 2]); }
  /// Lets arrive what is on its way to the mbarrier.
  static void let_arrive(Block& block, Mbarrier& b);
  /// Ends the phase if nothing is missing.
  static void end_phase(Block& block, Mbarrier& b);
  /// The running lane stops at `kind`. Returns the lane's bit of its warp.
  unsigned stop(Barrier kind, const Site& site);
  /// And goes on.
  void go(unsigned bit);
  /// Gives every lane that arrived its result and makes it runnable.
  inline void close(Block& block, Warp& warp, Warp::Group& open, unsigned base);
  /// Makes what the lanes of the mask did before their __syncwarp visible to all of them after it.
  static inline void order_memory(Block& block, unsigned base, unsigned mask);

  // Out of line and cold: their strings would enlarge the stack frame of every waiting thread.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* what, FaultKind kind = FaultKind::divergence);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_width(int width);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_read(unsigned base, BadRead bad, bool named);

  /// Records the first fault, and where every unfinished thread of the cluster is.
  [[gnu::cold, gnu::noinline]] void describe(const std::string& what, FaultKind kind = FaultKind::divergence);
  /// Unwinds every suspended fiber, so that all are clean for the next launch.
  void abandon();
  /// The launch is over: what its threads did is visible to the OS thread.
  void leave();
  std::string take_error() { return std::exchange(error_, std::string()); }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> team_;  // the blocks of the running cluster
  /// All warps of a cluster. Those of its first block have the first numbers.
  std::vector<unsigned> warp_order_;
  std::vector<std::vector<unsigned>> lane_order_;
  SwitchTarget main_;  // the scheduler
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  std::size_t dynamic_ = 0;
  unsigned threads_ = 0, alive_ = 0;  // of a block; of the cluster, not exited
  unsigned cluster_arrived_ = 0;      // at the cluster's barrier
  unsigned cluster_barriers_ = 0;     // that have opened in this cluster
  char cluster_edge_[2] = {};
  Lane* running_ = nullptr;
  std::string error_;
  FaultKind error_kind_ = {};
  bool quit_ = false;
};

// A raw pointer beside its owner: kernels read it at every barrier and shuffle, and reading it needs no
// initialisation guard.
extern constinit thread_local Executor* instance;
/// Makes the executor of this OS thread.
Executor& make_executor();
inline Executor& executor() { return instance ? *instance : make_executor(); }

}  // namespace assay::executor
