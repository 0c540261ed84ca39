// Launches: blocks, warps and the fibers of their threads. Each OS thread has one Executor, made on first
// use. Its fibers are pooled, because making one costs far more than running a thread of a kernel on it.
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

struct ScheduleRandom {  // splitmix64
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

template <class T>
void permute(std::vector<T>& items, ScheduleRandom& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.next() % i]);
}

}  // namespace

Executor::~Executor() {
  quit_ = true;
  if constexpr (SwitchTarget::kMustEnd)
    for (Pool& p : pools_)
      for (auto& lane : p.lanes) SwitchTarget::between(main_, *lane);
}

void Executor::run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*),
                   const void* argument) {
  check(grid, block, dynamic);
  body_ = body;
  argument_ = argument;
  dynamic_ = dynamic;
  threads_ = static_cast<unsigned>(block.count());
  for (which_ = 0; which_ < std::min<std::uint64_t>(kPools, grid.count()); ++which_) prepare(grid, block);
  ScheduleRandom random{schedule.seed};
  const std::vector<std::uint64_t> chosen = choice ? choice(grid.count()) : std::vector<std::uint64_t>();
  const std::uint64_t blocks = choice ? chosen.size() : grid.count();
  // Permutes the blocks without storing the order: start + stride * i, where stride is coprime to the count.
  std::uint64_t stride = 1, start = 0;
  if (schedule.seed != 0 && blocks > 1) {
    start = random.next() % blocks;
    do stride = random.next() % blocks;
    while (std::gcd(stride, blocks) != 1);
    if (stride == 0) stride = 1;
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    which_ = static_cast<unsigned>(i % kPools);
    const auto turn =
        static_cast<std::uint64_t>((start + static_cast<unsigned __int128>(stride) * i) % blocks);
    const std::uint64_t b = choice ? chosen[turn] : turn;
    if (schedule.seed != 0) {
      for (auto& order : lane_order_) permute(order, random);
      permute(warp_order_, random);
      place_lanes();
    }
    run_block({static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
               static_cast<unsigned>(b / grid.x / grid.y)});
  }
  for (Pool& p : pools_) sanitizers::acquire(&p.end_edge);
  current = nullptr;
}

void Executor::check(const Dim3& grid, const Dim3& block, std::size_t dynamic) const {
  if (running_) throw Fault("a kernel launched a kernel", FaultKind::bad_launch);
  if (grid.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
    throw Fault("invalid grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                    std::to_string(grid.z),
                FaultKind::bad_launch);
  if (block.count() == 0 || block.count() > kMaxThreads || block.z > 64)
    throw Fault("invalid block of " + std::to_string(block.count()) + " threads (" + std::to_string(block.x) +
                    " x " + std::to_string(block.y) + " x " + std::to_string(block.z) + ")",
                FaultKind::bad_launch);
  if (dynamic > kMaxShared)
    throw Fault("dynamic shared memory of " + std::to_string(dynamic) + " bytes exceeds " +
                    std::to_string(kMaxShared),
                FaultKind::bad_launch);
}

void Executor::prepare(const Dim3& grid, const Dim3& block) {
  while (pool().lanes.size() < threads_) pool().lanes.push_back(make_lane());
  const unsigned warps = (threads_ + 31) / 32;
  warps_.resize(warps);
  warp_order_.resize(warps);
  lane_order_.resize(warps);
  for (unsigned w = 0; w < warps; ++w) {
    warp_order_[w] = w;
    lane_order_[w].resize(std::min(32u, threads_ - 32 * w));
    for (unsigned l = 0; l < lane_order_[w].size(); ++l) lane_order_[w][l] = l;
  }
  place_lanes();
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& lane = lane_at(t);
    lane.index = t;
    lane.identity.threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    lane.identity.blockDim = block;
    lane.identity.gridDim = grid;
  }
}

void Executor::place_lanes() {
  for (unsigned w = 0; w < warps_.size(); ++w)
    for (unsigned i = 0; i < lane_order_[w].size(); ++i) lane_at(32 * w + lane_order_[w][i]).position = i;
}

std::unique_ptr<Lane> Executor::make_lane() {
  auto lane = std::make_unique<Lane>();
  lane->home = &pool();
  // Stacks begin at page boundaries. Without a different offset for each, the live frames of all fibers would
  // fall into the same few cache sets, and each switch would miss the cache.
  const std::size_t colour = pool().lanes.size() % 64 * 320;
  lane->make(colour, [](SwitchTarget* self) { return instance->live(static_cast<Lane&>(*self)); });
  return lane;
}

SwitchTarget* Executor::live(Lane& self) {
  while (!quit_) {
    sanitizers::acquire(&self.home->start_edge);
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
    sanitizers::release(&self.home->end_edge);
    go_on(self);
  }
  return &main_;
}

void Executor::finish(Lane& lane) {
  const unsigned l = lane.index % 32;
  Warp& warp = warps_[lane.index / 32];
  lane.done = true;
  warp.runnable &= ~(1u << l);
  warp.alive &= ~(1u << l);
  --alive_;
  if (!error_.empty()) return;
  // A block barrier no longer waits for an exited thread (CUDA guide, __syncthreads).
  if (alive_ > 0 && arrived_ == alive_) open_barrier();
  // Nor does a warp collective. One of its waiting lanes must close it, so that only their memory is ordered,
  // and not that of the exited thread.
  for (unsigned i = 0; i < warp.group_count; ++i)
    if (const Warp::Group& g = warp.groups[i]; (g.mask >> l & 1) && complete(warp, g))
      warp.runnable |= g.arrived & -g.arrived;
}

void Executor::run_block(const Dim3& index) {
  alive_ = threads_;
  arrived_ = 0;
  pool().memory.open(dynamic_, static_cast<unsigned>(schedule.seed & 1));
  for (unsigned w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = static_cast<unsigned>(lane_order_[w].size());
    warps_[w].alive = warps_[w].runnable = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps_[w].at_barrier = 0;
    warps_[w].group_count = 0;
  }
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& lane = lane_at(t);
    lane.done = false;
    lane.begun = false;
    lane.identity.blockIdx = index;
  }
  sanitizers::acquire(&pool().end_edge);
  sanitizers::release(&pool().start_edge);
  while (alive_ > 0) {
    bool progress = false;
    for (unsigned w : warp_order_) progress |= run_warp(w);
    if (!progress) {
      running_ = nullptr;
      describe("no thread can go on");
      abandon();
      throw Fault(take_error(), error_kind_);
    }
    if (!error_.empty()) {
      abandon();
      throw Fault(take_error(), error_kind_);
    }
  }
  pool().memory.close();
  running_ = nullptr;
  if (const std::string past = pool().memory.overrun(); !past.empty()) {
    for (Pool& p : pools_) sanitizers::acquire(&p.end_edge);
    current = nullptr;
    throw Fault(past + " (block " + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
                    std::to_string(index.z) + ")",
                FaultKind::shared_overrun);
  }
}

bool Executor::run_warp(unsigned w) {
  if (warps_[w].runnable == 0) return false;
  while (warps_[w].runnable != 0 && error_.empty())
    for (unsigned l : lane_order_[w])
      if (warps_[w].runnable >> l & 1) {
        enter(main_, lane_at(32 * w + l));
        break;
      }
  return true;
}

void* Executor::shared(const void* tag, std::size_t bytes, std::size_t align) {
  const char* refused = nullptr;
  void* const array = pool().memory.array(tag, bytes, align, refused);
  if (refused) fail(refused, FaultKind::bad_launch);
  return array;
}

void Executor::describe(const std::string& what, FaultKind kind) {
  if (!error_.empty()) return;
  error_ = fault_text(what, pool().lanes, warps_, threads_);
  error_kind_ = kind;
}

void Executor::abandon() {
  if (error_.empty()) error_ = "abandoned", error_kind_ = FaultKind::other;
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& lane = lane_at(t);
    // A thread that has not begun is at the top of its fiber: switching to it would execute the kernel.
    if (lane.done || !lane.begun) continue;
    while (!lane.done) enter(main_, lane);
  }
  for (Pool& p : pools_) sanitizers::acquire(&p.end_edge);
  pool().memory.close();
  running_ = nullptr;
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
std::uint64_t dispatch() { return executor().dispatched; }
void choose_blocks(BlockChoice choice) { executor().choice = std::move(choice); }
void run(Dim3 grid, Dim3 block, std::size_t dynamic_shared, void (*body)(const void*), const void* argument) {
  std::uint64_t& hash = executor().dispatched;
  for (const std::uint64_t word :
       {std::uint64_t{block.x}, std::uint64_t{block.y}, std::uint64_t{block.z}, std::uint64_t{dynamic_shared},
        std::uint64_t(std::bit_width(grid.count()))})
    hash = (hash ^ (word + 1)) * 0x9e3779b97f4a7c15 ^ hash >> 29;
  executor().run(grid, block, dynamic_shared, body, argument);
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
