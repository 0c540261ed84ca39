// Fibers, the scheduler, block barriers and warp rendezvous. One Executor per OS thread, made on first
// use; its fibers are pooled, because making one costs far more than running a thread of a kernel on it.
#include "kernels/host/executor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/host/block_choice.hpp"
#include "kernels/host/collectives.hpp"
#include "kernels/host/lanes.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

constinit thread_local const Identity* current = nullptr;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(ASSAY_TSAN)
constexpr std::size_t kStack = 512 * 1024;
#else
constexpr std::size_t kStack = 96 * 1024;
#endif

/// Unwinds a fiber whose launch has faulted.
struct Abandon {};

struct Stream {  // splitmix64
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

template <class T>
void permute(std::vector<T>& items, Stream& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.next() % i]);
}

bool same_place(const Site& a, const Site& b) {
  return a.line() == b.line() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

/// A fiber's memory. Its outermost frames are never left, so it is given back with their poison taken off:
/// from munmap on, the address may be another OS thread's next stack.
struct StackMemory : boost::context::protected_fixedsize_stack {
  StackMemory() : basic_protected_fixedsize_stack(kStack) {}
  void deallocate(boost::context::stack_context& memory) noexcept {
    sanitizers::allow(static_cast<const char*>(memory.sp) - memory.size, memory.size);
    basic_protected_fixedsize_stack::deallocate(memory);
  }
};

class Executor {
 public:
  Executor() { main_.stack.adopt_current_thread(); }
  ~Executor() {
    quit_ = true;
    for (Pool& p : pools_) {
      for (auto& lane : p.lanes) {
        switch_between(main_, *lane);
        lane->stack.destroy();
      }
    }
  }

  void run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*), const void* argument) {
    check(grid, block, dynamic);
    body_ = body;
    argument_ = argument;
    dynamic_ = dynamic;
    threads_ = static_cast<unsigned>(block.count());
    for (which_ = 0; which_ < std::min<std::uint64_t>(kPools, grid.count()); ++which_) prepare(grid, block);
    Stream random{schedule.seed};
    const std::vector<std::uint64_t> chosen = choice ? choice(grid.count()) : std::vector<std::uint64_t>();
    const std::uint64_t blocks = choice ? chosen.size() : grid.count();
    // Blocks in a permuted order without storing it: start + stride * i with stride coprime to the count.
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

  int barrier(Barrier kind, int predicate, const Site& site) {
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
    // The next barrier cannot open before this thread arrives there: the result is still this one's.
    return barrier_result_;
  }

  std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width,
                           const Site& site) {
    Lane& lane = *running_;
    const unsigned self = lane.index % 32;
    const unsigned bit = 1u << self;
    Warp& warp = warps_[lane.index / 32];
    lane.op = kind;
    lane.site = &site;
    warp.runnable &= ~bit;
    if (!(mask & bit)) fail("a thread calls a warp collective with a mask that does not name it");
    // Only __syncwarp orders memory: a kernel that leans on a shuffle or a vote for that has a race.
    if (kind == Collective::sync) sanitizers::release(&lane.arrival_edge);
    warp.offered[self] = value;
    warp.arguments[self] = argument;
    Warp::Group* const end = warp.groups.data() + warp.group_count;
    // Lanes that have exited, or are past the block's end, are not waited for: masks that differ by those
    // alone, as __activemask() gives them before and after an exit, are one.
    Warp::Group* group = std::find_if(
        warp.groups.data(), end, [&](const Warp::Group& g) { return ((g.mask ^ mask) & warp.alive) == 0; });
    if (group == end) {
      if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) fail_width(width);
      *group = {mask, 0, kind, width};
      ++warp.group_count;
    }
    if (group->op != kind || group->width != width)
      fail("lanes of one mask are in different warp collectives");
    group->arrived |= bit;
    if (!complete(warp, *group)) yield(lane);
    // Who arrives last closes the group; where an exit completed it, a lane that waited.
    if (Warp::Group* const open = group_of(warp, bit)) {
      warp.runnable &= ~bit;
      close(warp, *open, lane.index - self);
    }
    if (kind == Collective::sync) sanitizers::acquire(&lane.wake_edge);
    return warp.results[self];
  }

  unsigned active() const { return warps_[running_->index / 32].alive; }

  void* shared(const void* tag, std::size_t bytes, std::size_t align) {
    const char* refused = nullptr;
    void* const array = pool().memory.array(tag, bytes, align, refused);
    if (refused) fail(refused, FaultKind::bad_launch);
    return array;
  }
  void* dynamic() { return pool().memory.dynamic(); }

  Schedule schedule;
  BlockChoice choice;
  std::uint64_t dispatched = 0;

 private:
  Pool& pool() { return pools_[kPools == 1 ? 0 : which_]; }
  Lane& lane_at(std::size_t thread) { return *pool().lanes[thread]; }

  /// CUDA asks a warp collective of those threads of its mask alone that have not exited.
  static bool complete(const Warp& warp, const Warp::Group& group) {
    return group.arrived == (group.mask & warp.alive);
  }
  /// The group that this lane waits in; null if none is left.
  static Warp::Group* group_of(Warp& warp, unsigned bit) {
    for (unsigned i = 0; i < warp.group_count; ++i)
      if (warp.groups[i].arrived & bit) return &warp.groups[i];
    return nullptr;
  }
  /// Gives every lane that arrived its result and lets it go on.
  void close(Warp& warp, Warp::Group& open, unsigned base) {
    const Warp::Group group = std::exchange(open, warp.groups[warp.group_count - 1]);
    --warp.group_count;
    if (const auto bad = deliver(group.op, group.arrived, static_cast<unsigned>(group.width), warp.offered,
                                 warp.arguments, warp.results))
      fail_read(base, *bad, group.mask >> bad->source & 1);
    if (group.op == Collective::sync) order_memory(base, group.arrived);
    warp.runnable |= group.arrived;
  }

  /// What the lanes of the mask did before their __syncwarp is visible to all of them after it.
  void order_memory([[maybe_unused]] unsigned base, [[maybe_unused]] unsigned mask) {
    if constexpr (sanitizers::kThreads) {
      for (unsigned rest = mask; rest; rest &= rest - 1)
        sanitizers::acquire(&lane_at(base + static_cast<unsigned>(std::countr_zero(rest))).arrival_edge);
      for (unsigned rest = mask; rest; rest &= rest - 1)
        sanitizers::release(&lane_at(base + static_cast<unsigned>(std::countr_zero(rest))).wake_edge);
    }
  }

  void check(const Dim3& grid, const Dim3& block, std::size_t dynamic) const {
    if (running_) throw Fault("a kernel launched a kernel", FaultKind::bad_launch);
    if (grid.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
      throw Fault("invalid grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                      std::to_string(grid.z),
                  FaultKind::bad_launch);
    if (block.count() == 0 || block.count() > kMaxThreads || block.z > 64)
      throw Fault("invalid block of " + std::to_string(block.count()) + " threads (" +
                      std::to_string(block.x) + " x " + std::to_string(block.y) + " x " +
                      std::to_string(block.z) + ")",
                  FaultKind::bad_launch);
    if (dynamic > kMaxShared)
      throw Fault("dynamic shared memory of " + std::to_string(dynamic) + " bytes exceeds " +
                      std::to_string(kMaxShared),
                  FaultKind::bad_launch);
  }

  void prepare(const Dim3& grid, const Dim3& block) {
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

  void place_lanes() {
    for (unsigned w = 0; w < warps_.size(); ++w)
      for (unsigned i = 0; i < lane_order_[w].size(); ++i) lane_at(32 * w + lane_order_[w][i]).position = i;
  }

  std::unique_ptr<Lane> make_lane() {
    auto lane = std::make_unique<Lane>();
    Lane* self = lane.get();
    self->stack.create();
    StackMemory allocator;
    const context::stack_context memory = allocator.allocate();
    self->stack.bottom = static_cast<const char*>(memory.sp) - memory.size;
    self->stack.size = memory.size;
    // Stacks begin at page boundaries. Without a different offset for each, the same few cache sets would
    // hold the live frames of every fiber, and each switch would miss.
    const std::size_t colour = pool().lanes.size() % 64 * 320;
    const context::preallocated place(static_cast<char*>(memory.sp) - colour, memory.size - colour, memory);
    self->fiber = context::fiber(
        std::allocator_arg, place, allocator, [this, self, home = &pool()](context::fiber&& from) {
          sanitizers::after_switch(self->stack, previous_->stack);
          previous_->fiber = std::move(from);
          while (!quit_) {
            sanitizers::acquire(&home->start_edge);
            try {
              body_(argument_);
            } catch (const Abandon&) {
            } catch (const std::exception& e) {
              const auto* const fault = dynamic_cast<const Fault*>(&e);
              describe("exception in kernel code, thread " + std::to_string(self->index) + ": " + e.what(),
                       fault ? fault->kind : FaultKind::threw);
            } catch (...) {
              describe("exception in kernel code, thread " + std::to_string(self->index), FaultKind::threw);
            }
            finish(*self);
            sanitizers::release(&home->end_edge);
            go_on(*self);
          }
          // The last switch: nothing of this stack is used again.
          previous_ = self;
          sanitizers::before_last_switch(main_.stack);
          return std::move(main_.fiber);
        });
    return lane;
  }

  /// Leaves `from`, goes on with `to`; returns when somebody switches back to `from`.
  void switch_between(Context& from, Context& to) {
    previous_ = &from;
    sanitizers::before_switch(from.stack, to.stack);
    context::fiber back = std::move(to.fiber).resume();
    sanitizers::after_switch(from.stack, previous_->stack);
    previous_->fiber = std::move(back);
  }
  void enter(Context& from, Lane& lane) {
    running_ = &lane;
    current = &lane.identity;
    lane.begun = true;
    switch_between(from, lane);
  }

  /// Goes on with the next runnable lane of the same warp in its order, else with the scheduler.
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
    switch_between(lane, main_);
  }
  void yield(Lane& lane) {
    go_on(lane);
    if (!error_.empty()) throw Abandon{};
  }

  /// The thread has returned from the kernel.
  void finish(Lane& lane) {
    const unsigned l = lane.index % 32;
    Warp& warp = warps_[lane.index / 32];
    lane.done = true;
    warp.runnable &= ~(1u << l);
    warp.alive &= ~(1u << l);
    --alive_;
    if (!error_.empty()) return;
    // An exited thread is no longer waited for at a block barrier (CUDA guide, __syncthreads).
    if (alive_ > 0 && arrived_ == alive_) open_barrier();
    // Nor at a warp collective. One of those that wait closes it: the memory that its lanes order is theirs.
    for (unsigned i = 0; i < warp.group_count; ++i)
      if (const Warp::Group& g = warp.groups[i]; (g.mask >> l & 1) && complete(warp, g))
        warp.runnable |= g.arrived & -g.arrived;
  }

  void run_block(const Dim3& index) {
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

  /// Runs the warp until every lane of it waits for others or is done. False if none could run.
  bool run_warp(unsigned w) {
    if (warps_[w].runnable == 0) return false;
    while (warps_[w].runnable != 0 && error_.empty())
      for (unsigned l : lane_order_[w])
        if (warps_[w].runnable >> l & 1) {
          enter(main_, lane_at(32 * w + l));
          break;
        }
    return true;
  }

  void open_barrier() {
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

  // Out of line and cold: their strings would widen the frames that every waiting thread keeps on its stack.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* what, FaultKind kind = FaultKind::divergence) {
    describe(what, kind);
    throw Abandon{};
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail_width(int width) {
    describe("a shuffle's width of " + std::to_string(width) + " is not a power of two up to 32");
    throw Abandon{};
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail_read(unsigned base, BadRead bad, bool named) {
    describe("a shuffle of thread " + std::to_string(base + bad.lane) + " reads lane " +
             std::to_string(bad.source) + ", which " +
             (named ? "has exited or does not exist" : "its mask does not name") + " (undefined on a GPU)");
    throw Abandon{};
  }

  /// Records the first fault, with where every unfinished thread of the block is.
  [[gnu::cold, gnu::noinline]] void describe(const std::string& what,
                                             FaultKind kind = FaultKind::divergence) {
    if (!error_.empty()) return;
    error_ = fault_text(what, pool().lanes, warps_, threads_);
    error_kind_ = kind;
  }

  /// Lets every suspended fiber unwind, so that the pool is clean for the next launch.
  void abandon() {
    if (error_.empty()) error_ = "abandoned", error_kind_ = FaultKind::other;
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = lane_at(t);
      // A thread that has not begun sits at the top of its fiber: running it would execute the kernel.
      if (lane.done || !lane.begun) continue;
      while (!lane.done) enter(main_, lane);
    }
    for (Pool& p : pools_) sanitizers::acquire(&p.end_edge);
    pool().memory.close();
    running_ = nullptr;
    current = nullptr;
  }
  std::string take_error() { return std::exchange(error_, std::string()); }

  std::array<Pool, kPools> pools_;
  unsigned which_ = 0;  // the running block's pool
  std::vector<Warp> warps_;
  std::vector<unsigned> warp_order_;
  std::vector<std::vector<unsigned>> lane_order_;
  Context main_;                // the scheduler
  Context* previous_ = &main_;  // who switched last
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

// A raw pointer beside its owner: reading it needs no initialisation guard, and kernels read it at every
// barrier and shuffle.
constinit thread_local Executor* instance = nullptr;

Executor& executor() {
  if (!instance) {
    static thread_local std::unique_ptr<Executor> owner = std::make_unique<Executor>();
    instance = owner.get();
  }
  return *instance;
}

}  // namespace

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
int block_barrier(Barrier kind, int predicate, const Site& site) {
  return executor().barrier(kind, predicate, site);
}
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width,
                              const Site& site) {
  return executor().collective(kind, mask, value, argument, width, site);
}
unsigned active_mask() { return executor().active(); }
void* static_shared(const void* tag, std::size_t bytes, std::size_t align) {
  return executor().shared(tag, bytes, align);
}
void* dynamic_shared() { return executor().dynamic(); }

void poison(void* p, std::size_t bytes, unsigned turn) {
  constexpr unsigned char kNan = 0xff, kLarge = 0x71;
  std::byte pattern[64];
  // The words are placed by address: a guard that was filled in two pieces is one pattern.
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t i = 0; i < sizeof pattern; ++i)
    pattern[i] = std::byte((begin + i) / 4 % 2 == turn % 2 ? kNan : kLarge);
  auto* to = static_cast<std::byte*>(p);
  for (; bytes > sizeof pattern; to += sizeof pattern, bytes -= sizeof pattern)
    std::memcpy(to, pattern, sizeof pattern);
  std::memcpy(to, pattern, bytes);
}

}  // namespace assay::executor
