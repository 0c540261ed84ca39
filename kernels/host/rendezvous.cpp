// Where threads wait for each other: block barriers and warp collectives, and the faults of both.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/host/scheduler.hpp"

namespace assay::executor {
namespace {

bool same_place(const Site& a, const Site& b) {
  return a.line() == b.line() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

}  // namespace

int Executor::barrier(Barrier kind, int predicate, const Site& site) {
  Lane& lane = *running_;
  Warp& warp = warps_[lane.index / 32];
  const unsigned bit = 1u << lane.index % 32;
  lane.barrier = kind;
  lane.site = &site;
  warp.runnable &= ~bit;
  warp.at_barrier |= bit;
  if (arrived_ == 0) {
    barrier_kind_ = kind;
    barrier_site_ = &site;
    barrier_count_ = 0;
  } else if (barrier_kind_ != kind || !same_place(*barrier_site_, site)) {
    fail("divergent barrier: threads of one block wait at different barriers");
  }
  barrier_count_ += predicate != 0;
  ++arrived_;
  char* const edge = &pool().barrier_edge[barrier_turn_];
  sanitizers::release(edge);
  if (arrived_ == alive_)
    open_barrier();
  else
    yield(lane);
  sanitizers::acquire(edge);
  // The next barrier cannot open before this thread arrives there, so the result is still this barrier's.
  return barrier_result_;
}

void Executor::open_barrier() {
  barrier_result_ = barrier_kind_ == Barrier::count ? barrier_count_
                    : barrier_kind_ == Barrier::all ? barrier_count_ == static_cast<int>(arrived_)
                                                    : barrier_count_ > 0;
  for (Warp& warp : warps_) {
    warp.runnable |= warp.at_barrier;
    warp.at_barrier = 0;
  }
  arrived_ = 0;
  barrier_turn_ ^= 1;
}

void Executor::order_memory([[maybe_unused]] unsigned base, [[maybe_unused]] unsigned mask) {
  if constexpr (sanitizers::kThreads) {
    for (unsigned rest = mask; rest; rest &= rest - 1)
      sanitizers::acquire(&lane_at(base + static_cast<unsigned>(std::countr_zero(rest))).arrival_edge);
    for (unsigned rest = mask; rest; rest &= rest - 1)
      sanitizers::release(&lane_at(base + static_cast<unsigned>(std::countr_zero(rest))).wake_edge);
  }
}

void Executor::close(Warp& warp, Warp::Group& open, unsigned base) {
  const Warp::Group group = std::exchange(open, warp.groups[warp.group_count - 1]);
  --warp.group_count;
  if (const auto bad = deliver(group.op, group.arrived, static_cast<unsigned>(group.width), warp.offered,
                               warp.arguments, warp.results))
    fail_read(base, *bad, group.mask >> bad->source & 1);
  if (group.op == Collective::sync) order_memory(base, group.arrived);
  warp.runnable |= group.arrived;
}

std::uint64_t Executor::collective(Collective kind, unsigned mask, std::uint64_t value, int argument,
                                   int width, const Site& site) {
  Lane& lane = *running_;
  const unsigned self = lane.index % 32;
  const unsigned bit = 1u << self;
  Warp& warp = warps_[lane.index / 32];
  lane.op = kind;
  lane.site = &site;
  warp.runnable &= ~bit;
  if (!(mask & bit)) fail("a thread calls a warp collective with a mask that does not name it");
  // Only __syncwarp orders memory: a kernel that relies on a shuffle or a vote for that has a race.
  if (kind == Collective::sync) sanitizers::release(&lane.arrival_edge);
  warp.offered[self] = value;
  warp.arguments[self] = argument;
  Warp::Group* const end = warp.groups.data() + warp.group_count;
  // Nobody waits for lanes that have exited or lie past the block's end. So masks that differ only in such
  // lanes are one mask. Example: __activemask() before and after a lane exits.
  Warp::Group* group = std::find_if(
      warp.groups.data(), end, [&](const Warp::Group& g) { return ((g.mask ^ mask) & warp.alive) == 0; });
  if (group == end) {
    if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) fail_width(width);
    *group = {mask, 0, kind, width};
    ++warp.group_count;
  }
  if (group->op != kind || group->width != width) fail("lanes of one mask are in different warp collectives");
  group->arrived |= bit;
  if (!complete(warp, *group)) yield(lane);
  // The lane that arrives last closes the group. If an exit completed the group, a waiting lane closes it.
  if (Warp::Group* const open = group_of(warp, bit)) {
    warp.runnable &= ~bit;
    close(warp, *open, lane.index - self);
  }
  if (kind == Collective::sync) sanitizers::acquire(&lane.wake_edge);
  return warp.results[self];
}

void Executor::fail(const char* what, FaultKind kind) {
  describe(what, kind);
  throw Abandon{};
}
void Executor::fail_width(int width) {
  describe("a shuffle's width of " + std::to_string(width) + " is not a power of two up to 32");
  throw Abandon{};
}
void Executor::fail_read(unsigned base, BadRead bad, bool named) {
  describe("a shuffle of thread " + std::to_string(base + bad.lane) + " reads lane " +
           std::to_string(bad.source) + ", which " +
           (named ? "has exited or does not exist" : "its mask does not name") + " (undefined on a GPU)");
  throw Abandon{};
}

int block_barrier(Barrier kind, int predicate, const Site& site) {
  return executor().barrier(kind, predicate, site);
}
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width,
                              const Site& site) {
  return executor().collective(kind, mask, value, argument, width, site);
}
unsigned active_mask() { return executor().active(); }

}  // namespace assay::executor
