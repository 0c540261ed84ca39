// SPDX-License-Identifier: Apache-2.0
// Where threads wait for each other: block barriers, warp collectives, and what the blocks of a cluster have
// in common. And the faults of all three.
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
  Block& block = *lane.home;
  Warp& warp = warp_of(lane);
  const unsigned bit = 1u << lane.index % 32;
  lane.barrier = kind;
  lane.site = &site;
  warp.runnable &= ~bit;
  warp.at_barrier |= bit;
  if (block.arrived == 0) {
    block.barrier_kind = kind;
    block.barrier_site = &site;
    block.barrier_count = 0;
  } else if (block.barrier_kind != kind || !same_place(*block.barrier_site, site)) {
    fail("divergent barrier: threads of one block wait at different barriers");
  }
  block.barrier_count += predicate != 0;
  ++block.arrived;
  char* const edge = &block.barrier_edge[block.barriers % 2];
  sanitizers::release(edge);
  if (block.arrived == block.alive)
    open_barrier(block);
  else
    yield(lane);
  sanitizers::acquire(edge);
  // The next barrier cannot open before this thread arrives there, so the result is still this barrier's.
  return block.barrier_result;
}

void Executor::open_barrier(Block& block) {
  block.barrier_result = block.barrier_kind == Barrier::count ? block.barrier_count
                         : block.barrier_kind == Barrier::all
                             ? block.barrier_count == static_cast<int>(block.arrived)
                             : block.barrier_count > 0;
  for (Warp& warp : block.warps) {
    warp.runnable |= warp.at_barrier;
    warp.at_barrier = 0;
  }
  block.arrived = 0;
  ++block.barriers;
}

void Executor::order_memory([[maybe_unused]] Block& block, [[maybe_unused]] unsigned base,
                            [[maybe_unused]] unsigned mask) {
  if constexpr (sanitizers::kThreads) {
    for (unsigned rest = mask; rest; rest &= rest - 1)
      sanitizers::acquire(&lane_at(block, base + static_cast<unsigned>(std::countr_zero(rest))).arrival_edge);
    for (unsigned rest = mask; rest; rest &= rest - 1)
      sanitizers::release(&lane_at(block, base + static_cast<unsigned>(std::countr_zero(rest))).wake_edge);
  }
}

void Executor::close(Block& block, Warp& warp, Warp::Group& open, unsigned base) {
  const Warp::Group group = std::exchange(open, warp.groups[warp.group_count - 1]);
  --warp.group_count;
  if (const auto bad = deliver(group.op, group.arrived, static_cast<unsigned>(group.width), warp.offered,
                               warp.arguments, warp.results))
    fail_read(base, *bad, group.mask >> bad->source & 1);
  if (group.op == Collective::sync) order_memory(block, base, group.arrived);
  warp.runnable |= group.arrived;
}

std::uint64_t Executor::collective(Collective kind, unsigned mask, std::uint64_t value, int argument,
                                   int width, const Site& site) {
  Lane& lane = *running_;
  const unsigned self = lane.index % 32;
  const unsigned bit = 1u << self;
  Warp& warp = warp_of(lane);
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
    close(*lane.home, warp, *open, lane.index - self);
  }
  if (kind == Collective::sync) sanitizers::acquire(&lane.wake_edge);
  return warp.results[self];
}

unsigned Executor::stop(Barrier kind, const Site& site) {
  Lane& lane = *running_;
  Warp& warp = warp_of(lane);
  const unsigned bit = 1u << lane.index % 32;
  lane.barrier = kind;
  lane.site = &site;
  warp.runnable &= ~bit;
  (kind == Barrier::cluster ? warp.at_cluster : warp.at_mbarrier) |= bit;
  return bit;
}

void Executor::go(unsigned bit) {
  Warp& warp = warp_of(*running_);
  warp.runnable |= bit;
  warp.at_cluster &= ~bit;
  warp.at_mbarrier &= ~bit;
}

void Executor::arrive(bool release, const Site& site) {
  Lane& lane = *running_;
  const unsigned bit = stop(Barrier::cluster, site);
  if (lane.cluster_arrivals != lane.cluster_waits)
    fail("a thread arrives at the barrier of the cluster twice without waiting in between");
  if (release) sanitizers::release(&cluster_edge_[cluster_barriers_ % 2]);
  ++lane.cluster_arrivals;
  go(bit);
  if (++cluster_arrived_ == alive_) open_cluster_barrier();
}

void Executor::wait(const Site& site) {
  Lane& lane = *running_;
  const unsigned bit = stop(Barrier::cluster, site);
  if (lane.cluster_arrivals == lane.cluster_waits)
    fail("a thread waits at the barrier of the cluster without having arrived");
  if (cluster_barriers_ == lane.cluster_waits) yield(lane);
  go(bit);
  sanitizers::acquire(&cluster_edge_[lane.cluster_waits++ % 2]);
}

void Executor::open_cluster_barrier() {
  for (Block* block : team_)
    for (Warp& warp : block->warps) {
      warp.runnable |= warp.at_cluster;
      warp.at_cluster = 0;
    }
  cluster_arrived_ = 0;
  ++cluster_barriers_;
}

Block& Executor::block_with(const void* p) {
  for (Block* block : team_)
    if (block->memory.contains(p)) {
      if (block->alive > 0) {
        order_after_last(*block);
        return *block;
      }
      fail("a thread reaches into the shared memory of a block that has ended");
    }
  fail("an address lies outside the shared memory of the cluster", FaultKind::wild_access);
}

void* Executor::peer(void* own, int rank, const Site& site) {
  const unsigned bit = stop(Barrier::transfer, site);
  if (rank < 0 || static_cast<std::size_t>(rank) >= team_.size())
    fail("a thread names a block that its cluster does not have");
  const Block& home = block_with(own);
  Block& other = *team_[static_cast<std::size_t>(rank)];
  if (other.alive == 0) fail("a thread reaches into the shared memory of a block that has ended");
  order_after_last(other);
  const char* refused = nullptr;
  void* const there = other.memory.counterpart(home.memory, own, refused);
  if (!there) fail(refused ? refused : "a thread names a place in no array of shared memory");
  go(bit);
  return there;
}

Mbarrier& Executor::known(Block& block, void* word) {
  const Lane& lane = *running_;
  for (Mbarrier& b : block.mbarriers) {
    if (b.word != word) continue;
    const Lane& starter = *b.starter;
    const bool same_block = lane.home == starter.home;
    if ((same_block && (lane.index / 32 == starter.index / 32 || block.barriers > b.after_barriers)) ||
        (lane.cluster_waits > b.after_arrivals && starter.cluster_arrivals > b.after_arrivals))
      return b;
    fail("no barrier lies between the start of an mbarrier and its use by another thread");
  }
  fail("an mbarrier is used that nobody has started");
}

void Executor::start(void* word, int arrivals, const Site& site) {
  Lane& lane = *running_;
  Block& block = *lane.home;
  const unsigned bit = stop(Barrier::mbarrier, site);
  lane.mbarrier = nullptr;
  if (&block_with(word) != &block || arrivals < 1) fail("an mbarrier cannot be started like this");
  for (const Mbarrier& b : block.mbarriers)
    if (b.word == word) fail("an mbarrier is started twice");
  block.mbarriers.push_back({.word = word,
                             .arrivals = arrivals,
                             .missing = arrivals,
                             .starter = &lane,
                             .after_arrivals = lane.cluster_arrivals,
                             .after_barriers = block.barriers});
  go(bit);
}

void Executor::expect(void* word, int bytes, const Site& site) {
  Block& block = *running_->home;
  const unsigned bit = stop(Barrier::mbarrier, site);
  running_->mbarrier = nullptr;
  if (&block_with(word) != &block) fail("a thread expects bytes at an mbarrier of another block");
  Mbarrier& b = known(block, word);
  if (b.missing == 0) fail("more threads arrive at an mbarrier than it was started for");
  sanitizers::release(&b.edge[b.phase % 2]);
  b.bytes += bytes;
  --b.missing;
  go(bit);
  end_phase(block, b);
}

void Executor::wait_for(void* word, unsigned parity, const Site& site) {
  Lane& lane = *running_;
  Block& block = *lane.home;
  const unsigned bit = stop(Barrier::mbarrier, site);
  lane.mbarrier = nullptr;
  if (&block_with(word) != &block) fail("a thread waits at an mbarrier of another block");
  Mbarrier& b = known(block, word);
  lane.mbarrier = &b;
  let_arrive(block, b);
  while (b.phase % 2 == parity % 2) {
    stop(Barrier::mbarrier, site);
    yield(lane);
  }
  go(bit);
  sanitizers::acquire(&b.edge[parity % 2]);
}

void Executor::send(const Transfer& t, void* word, const Site& site) {
  const unsigned bit = stop(Barrier::transfer, site);
  Block& to = block_with(word);
  if (&block_with(t.to) != &to) fail("bytes are sent to one block, and announced to another");
  Mbarrier& b = known(to, word);
  go(bit);
  if constexpr (sanitizers::kThreads) {
    t.move(t);
    sanitizers::release(&b.edge[b.phase % 2]);
    b.bytes -= static_cast<std::int64_t>(t.bytes);
    end_phase(to, b);
  } else {
    to.on_their_way.push_back({t, &b});
    for (unsigned i = 0; i < threads_; ++i)
      if (const Lane& lane = lane_at(to, i);
          to.warps[i / 32].at_mbarrier >> i % 32 & 1 && lane.mbarrier == &b)
        return let_arrive(to, b);
  }
}

void Executor::let_arrive(Block& block, Mbarrier& b) {
  std::erase_if(block.on_their_way, [&](const Block::OnItsWay& o) {
    if (o.mbarrier != &b) return false;
    o.transfer.move(o.transfer);
    b.bytes -= static_cast<std::int64_t>(o.transfer.bytes);
    return true;
  });
  end_phase(block, b);
}

void Executor::end_phase(Block& block, Mbarrier& b) {
  if (b.missing > 0 || b.bytes != 0) return;
  ++b.phase;
  b.missing = b.arrivals;
  for (unsigned t = 0; t < block.warps.size() * 32; ++t) {
    Warp& warp = block.warps[t / 32];
    if (!(warp.at_mbarrier >> t % 32 & 1) || lane_at(block, t).mbarrier != &b) continue;
    warp.at_mbarrier &= ~(1u << t % 32);
    warp.runnable |= 1u << t % 32;
  }
}

void Executor::end(Block& block) {
  const auto bytes = [](std::int64_t n) { return std::to_string(n) + " bytes"; };
  for (const Block::OnItsWay& o : block.on_their_way)
    return describe("a block ended while " + bytes(static_cast<std::int64_t>(o.transfer.bytes)) +
                    " were on their way to it");
  for (const Mbarrier& b : block.mbarriers)
    if (b.bytes != 0)
      return describe(b.bytes > 0 ? "a block ended while an mbarrier waited for " + bytes(b.bytes)
                                  : "an mbarrier got " + bytes(-b.bytes) + " more than it was to expect");
  if (team_.size() > 1) block.memory.forbid();
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
void* peer_shared(void* own, int rank, const Site& site) { return executor().peer(own, rank, site); }
void cluster_arrive(bool release, const Site& site) { executor().arrive(release, site); }
void cluster_wait(const Site& site) { executor().wait(site); }
void mbarrier_start(void* word, int arrivals, const Site& site) { executor().start(word, arrivals, site); }
void mbarrier_expect(void* word, int bytes, const Site& site) { executor().expect(word, bytes, site); }
void mbarrier_wait(void* word, unsigned parity, const Site& site) { executor().wait_for(word, parity, site); }
void transfer(const Transfer& t, void* word, const Site& site) { executor().send(t, word, site); }

}  // namespace assay::executor
