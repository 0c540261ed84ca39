// SPDX-License-Identifier: Apache-2.0
// Launches: clusters, blocks, warps and the fibers of their threads. Each OS thread has one Executor, made on
// first use. Its fibers are pooled, because making one costs far more than running a thread of a kernel on
// it.
#include "kernels/host/executor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/host/scheduler.hpp"

namespace assay::executor {

constinit thread_local const Identity* current = nullptr;
constinit thread_local Executor* instance = nullptr;

namespace {

template <class T>
void permute(std::vector<T>& items, ScheduleRandom& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.next() % i]);
}

}  // namespace

Fault Fault::trap() { return {"the kernel calls __trap()", FaultKind::trap}; }
Fault Fault::bad_launch(const std::string& what) { return {what, FaultKind::bad_launch}; }
Fault Fault::misaligned(const char* what) { return {what, FaultKind::misaligned}; }

Executor::~Executor() {
  quit_ = true;
  if constexpr (SwitchTarget::kMustEnd)
    for (auto& block : blocks_)
      for (auto& lane : block->lanes) SwitchTarget::between(main_, *lane);
}

void Executor::run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*),
                   const void* argument, unsigned cluster) {
  check(grid, block, dynamic, cluster);
  body_ = body;
  argument_ = argument;
  dynamic_ = dynamic;
  threads_ = static_cast<unsigned>(block.count());
  const std::uint64_t clusters = grid.count() / cluster;
  const std::uint64_t used =
      std::max<std::uint64_t>(cluster, std::min<std::uint64_t>(kFewestBlocks, clusters));
  while (blocks_.size() < used) blocks_.push_back(std::make_unique<Block>());
  team_.assign(cluster, nullptr);
  order_in_turn();
  for (std::uint64_t i = 0; i < used; ++i) prepare(*blocks_[i], grid, block);
  ScheduleRandom random{schedule.seed};
  const std::vector<std::uint64_t> chosen = choice ? choice(clusters) : std::vector<std::uint64_t>();
  const std::uint64_t count = choice ? chosen.size() : clusters;
  // Permutes the clusters without storing the order: start + stride * i, where stride is coprime to the
  // count.
  std::uint64_t stride = 1, start = 0;
  if (schedule.seed != 0 && count > 1) {
    start = random.next() % count;
    do stride = random.next() % count;
    while (std::gcd(stride, count) != 1);
    if (stride == 0) stride = 1;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto turn =
        static_cast<std::uint64_t>((start + static_cast<unsigned __int128>(stride) * i) % count);
    const std::uint64_t first = (choice ? chosen[turn] : turn) * cluster;
    for (unsigned rank = 0; rank < cluster; ++rank) team_[rank] = blocks_[(i + rank) % used].get();
    if (schedule.seed != 0) permute_order(random);
    for (unsigned rank = 0; rank < cluster; ++rank) {
      const std::uint64_t b = first + rank;
      begin(*team_[rank], {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                           static_cast<unsigned>(b / grid.x / grid.y)});
    }
    run_team();
    if (take_turn) take_turn(kBlock);
  }
  leave();
  if (take_turn) take_turn(kKernel);
}

void Executor::check(const Dim3& grid, const Dim3& block, std::size_t dynamic, unsigned cluster) const {
  if (running_) throw Fault("a kernel launched a kernel", FaultKind::bad_launch);
  if (grid.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
    throw Fault("invalid grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                    std::to_string(grid.z),
                FaultKind::bad_launch);
  if (block.count() == 0 || block.count() > kMaxThreads || block.z > 64)
    throw Fault("invalid block of " + std::to_string(block.count()) + " threads (" + std::to_string(block.x) +
                    " x " + std::to_string(block.y) + " x " + std::to_string(block.z) + ")",
                FaultKind::bad_launch);
  if (cluster == 0 || cluster > kMaxCluster || grid.x % cluster != 0 ||
      cluster * block.count() > kMaxClusterThreads)
    throw Fault("invalid cluster of " + std::to_string(cluster) + " blocks of " +
                    std::to_string(block.count()) + " threads, in a grid of " + std::to_string(grid.x) +
                    " in x",
                FaultKind::bad_launch);
  if (dynamic > kMaxShared)
    throw Fault("dynamic shared memory of " + std::to_string(dynamic) + " bytes exceeds " +
                    std::to_string(kMaxShared),
                FaultKind::bad_launch);
}

void Executor::prepare(Block& on, const Dim3& grid, const Dim3& block) {
  while (on.lanes.size() < threads_) on.lanes.push_back(make_lane(on));
  on.warps.resize(lane_order_.size());
  place_lanes(on);
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& lane = lane_at(on, t);
    lane.index = t;
    lane.identity.threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    lane.identity.blockDim = block;
    lane.identity.gridDim = grid;
  }
  sanitizers::release(&on.start_edge);
}

void Executor::order_in_turn() {
  const unsigned warps = (threads_ + 31) / 32;
  warp_order_.resize(warps * team_.size());
  std::iota(warp_order_.begin(), warp_order_.end(), 0u);
  lane_order_.resize(warps);
  for (unsigned w = 0; w < warps; ++w) {
    lane_order_[w].resize(std::min(32u, threads_ - 32 * w));
    std::iota(lane_order_[w].begin(), lane_order_[w].end(), 0u);
  }
}

void Executor::permute_order(ScheduleRandom& random) {
  for (auto& order : lane_order_) permute(order, random);
  permute(warp_order_, random);
  for (Block* block : team_) place_lanes(*block);
}

void Executor::place_lanes(Block& block) {
  for (unsigned w = 0; w < lane_order_.size(); ++w)
    for (unsigned i = 0; i < lane_order_[w].size(); ++i)
      lane_at(block, 32 * w + lane_order_[w][i]).position = i;
}

std::unique_ptr<Lane> Executor::make_lane(Block& home) {
  auto lane = std::make_unique<Lane>();
  lane->home = &home;
  // Stacks begin at page boundaries. Without a different offset for each, the live frames of all fibers would
  // fall into the same few cache sets, and each switch would miss the cache.
  const std::size_t colour = home.lanes.size() % 64 * 320;
  lane->make(colour, [](SwitchTarget* self) { return instance->live(static_cast<Lane&>(*self)); });
  return lane;
}

SwitchTarget* Executor::live(Lane& self) {
  while (!quit_) {
    sanitizers::acquire(&self.home->start_edge);
    sanitizers::acquire(&self.home->end_edge[(self.home->turn + 1) % 2]);
    try {
      body_(argument_);
    } catch (const Abandon&) {
    } catch (const std::exception& e) {
      const auto* const fault = dynamic_cast<const Fault*>(&e);
      describe("exception in kernel code, thread " + std::to_string(self.index) + ": " + e.what(),
               fault ? fault->kind : FaultKind::threw);
    } catch (...) {
      describe("exception in kernel code, thread " + std::to_string(self.index), FaultKind::threw);
    }
    finish(self);
    sanitizers::release(&self.home->end_edge[self.home->turn % 2]);
    go_on(self);
  }
  return &main_;
}

void Executor::finish(Lane& lane) {
  const unsigned l = lane.index % 32;
  Block& block = *lane.home;
  Warp& warp = warp_of(lane);
  lane.done = true;
  warp.runnable &= ~(1u << l);
  warp.alive &= ~(1u << l);
  --alive_;
  --block.alive;
  if (!error_.empty()) return;
  // A block barrier no longer waits for an exited thread (CUDA guide, __syncthreads). Nor does the cluster's.
  if (block.alive > 0 && block.arrived == block.alive) open_barrier(block);
  if (lane.cluster_arrivals > cluster_barriers_) --cluster_arrived_;
  if (alive_ > 0 && cluster_arrived_ == alive_) open_cluster_barrier();
  // Nor does a warp collective. One of its waiting lanes must close it, so that only their memory is ordered,
  // and not that of the exited thread.
  for (unsigned i = 0; i < warp.group_count; ++i)
    if (const Warp::Group& g = warp.groups[i]; (g.mask >> l & 1) && complete(warp, g))
      warp.runnable |= g.arrived & -g.arrived;
  if (block.alive == 0) end(block);
}

void Executor::begin(Block& block, const Dim3& index) {
  block.alive = threads_;
  block.arrived = 0;
  block.barriers = 0;
  ++block.turn;
  block.mbarriers.clear();
  block.on_their_way.clear();
  block.memory.open(dynamic_, static_cast<unsigned>(schedule.seed & 1));
  for (unsigned w = 0; w < block.warps.size(); ++w) {
    const unsigned lanes = static_cast<unsigned>(lane_order_[w].size());
    Warp& warp = block.warps[w];
    warp.alive = warp.runnable = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.at_barrier = warp.at_cluster = warp.at_mbarrier = 0;
    warp.group_count = 0;
  }
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& lane = lane_at(block, t);
    lane.done = false;
    lane.begun = false;
    lane.cluster_arrivals = lane.cluster_waits = 0;
    lane.identity.blockIdx = index;
  }
}

void Executor::run_team() {
  const auto warps = static_cast<unsigned>(lane_order_.size());
  alive_ = threads_ * static_cast<unsigned>(team_.size());
  cluster_arrived_ = cluster_barriers_ = 0;
  while (alive_ > 0) {
    bool progress = false;
    for (unsigned w : warp_order_) {
      const bool ran = run_warp(*team_[w / warps], w % warps);
      progress |= ran;
      if (ran && take_turn && error_.empty()) take_turn(kWarp);
    }
    if (!progress) {
      running_ = nullptr;
      describe("no thread can go on");
    }
    if (!error_.empty()) {
      abandon();
      throw Fault(take_error(), error_kind_);
    }
  }
  running_ = nullptr;
  for (Block* block : team_) {
    block->memory.close();
    if (const std::string past = block->memory.overrun(); !past.empty()) {
      const Dim3& index = lane_at(*block, 0).identity.blockIdx;
      leave();
      throw Fault(past + " (block " + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
                      std::to_string(index.z) + ")",
                  FaultKind::shared_overrun);
    }
  }
}

bool Executor::run_warp(Block& block, unsigned w) {
  Warp& warp = block.warps[w];
  if (warp.runnable == 0) return false;
  while (warp.runnable != 0 && error_.empty())
    for (unsigned l : lane_order_[w])
      if (warp.runnable >> l & 1) {
        enter(main_, lane_at(block, 32 * w + l));
        break;
      }
  return true;
}

void* Executor::shared(const void* tag, std::size_t bytes, std::size_t align) {
  const char* refused = nullptr;
  void* const array = running_->home->memory.array(tag, bytes, align, refused);
  if (refused) fail(refused, FaultKind::bad_launch);
  return array;
}

void Executor::describe(const std::string& what, FaultKind kind) {
  if (!error_.empty()) return;
  error_ = fault_text(what, team_, threads_);
  error_kind_ = kind;
}

void Executor::abandon() {
  if (error_.empty()) error_ = "abandoned", error_kind_ = FaultKind::other;
  for (Block* block : team_) {
    block->memory.close();
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = lane_at(*block, t);
      // A thread that has not begun is at the top of its fiber: switching to it would execute the kernel.
      if (lane.done || !lane.begun) continue;
      while (!lane.done) enter(main_, lane);
    }
  }
  running_ = nullptr;
  leave();
}

void Executor::leave() {
  for (auto& block : blocks_)
    for (char& edge : block->end_edge) sanitizers::acquire(&edge);
  current = nullptr;
}

Executor& make_executor() {
  static thread_local std::unique_ptr<Executor> owner = std::make_unique<Executor>();
  instance = owner.get();
  return *instance;
}

void set_schedule(const Schedule& schedule) {
  executor().schedule = schedule;
  executor().dispatched = 0;
}
void take_turns(void (*turn)(int)) { executor().take_turn = turn; }
std::uint64_t dispatch() { return executor().dispatched; }
void choose_blocks(BlockChoice choice) { executor().choice = std::move(choice); }
void run(Dim3 grid, Dim3 block, std::size_t dynamic_shared, void (*body)(const void*), const void* argument,
         unsigned cluster) {
  std::uint64_t& hash = executor().dispatched;
  for (const std::uint64_t word :
       {std::uint64_t{block.x}, std::uint64_t{block.y}, std::uint64_t{block.z}, std::uint64_t{dynamic_shared},
        std::uint64_t(std::bit_width(grid.count())) + 64 * (cluster - 1)})
    hash = (hash ^ (word + 1)) * 0x9e3779b97f4a7c15 ^ hash >> 29;
  executor().run(grid, block, dynamic_shared, body, argument, cluster);
}
void* static_shared(const void* tag, std::size_t bytes, std::size_t align) {
  return executor().shared(tag, bytes, align);
}
void* dynamic_shared() { return executor().dynamic(); }

void poison(void* p, std::size_t bytes, unsigned turn) {
  constexpr unsigned char kNan = 0xff, kLarge = 0x71;
  std::byte pattern[64];
  // The address decides which word comes: a guard that is filled in two pieces holds one pattern.
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t i = 0; i < sizeof pattern; ++i)
    pattern[i] = std::byte((begin + i) / 4 % 2 == turn % 2 ? kNan : kLarge);
  auto* to = static_cast<std::byte*>(p);
  for (; bytes > sizeof pattern; to += sizeof pattern, bytes -= sizeof pattern)
    std::memcpy(to, pattern, sizeof pattern);
  std::memcpy(to, pattern, bytes);
}

}  // namespace assay::executor
