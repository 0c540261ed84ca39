// Fibers, the scheduler, block barriers and warp rendezvous. One Executor per OS thread, made on first
// use; its fibers are pooled, because making one costs far more than running a thread of a kernel on it.
#include "kernels/host/executor.hpp"

#include <algorithm>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

constinit thread_local const Identity* current = nullptr;

namespace {

namespace context = boost::context;

#if defined(__SANITIZE_ADDRESS__) || defined(ASSAY_TSAN)
constexpr std::size_t kStack = 512 * 1024;
#else
constexpr std::size_t kStack = 96 * 1024;
#endif
constexpr std::size_t kRedZone = 64;

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

const char* name(Collective c) {
  static constexpr const char* names[] = {
      "__syncwarp",      "__shfl_sync",     "__shfl_up_sync",    "__shfl_down_sync",   "__shfl_xor_sync",  "__ballot_sync",
      "__all_sync",      "__any_sync",      "__match_any_sync",  "__match_all_sync",   "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync"};
  return names[static_cast<int>(c)];
}

enum class State : std::uint8_t { runnable, at_collective, at_barrier, done };

}  // namespace

struct Lane {
  Identity identity;
  unsigned index = 0;  // linear thread index in the block
  State state = State::done;
  bool begun = false;  // has run any of the kernel in this block
  Collective op = Collective::sync;
  unsigned mask = 0;
  int argument = 0;
  int width = 32;
  std::uint64_t value = 0;
  std::uint64_t result = 0;
  const Site* site = nullptr;
  context::fiber fiber;      // this thread's code, suspended
  context::fiber scheduler;  // who to return to
  sanitizers::Stack stack;
};

namespace {

struct Warp {
  unsigned runnable = 0;
  unsigned alive = 0;
  // Lanes waiting in a collective, grouped by their mask. Almost always one group.
  struct Group {
    unsigned mask = 0, arrived = 0;
  };
  std::vector<Group> groups;
  char edge = 0;  // address of the warp's happens-before edges
};

class Executor {
 public:
  Executor() : arena_(static_cast<std::byte*>(std::aligned_alloc(128, kArena))) { scheduler_.adopt_current_thread(); }
  ~Executor() {
    quit_ = true;
    for (auto& lane : lanes_)
      if (lane->fiber) resume(*lane);
    for (auto& lane : lanes_) lane->stack.destroy();
    std::free(arena_);
  }

  void run(Dim3 grid, Dim3 block, std::size_t dynamic, void (*body)(const void*), const void* argument) {
    check(grid, block, dynamic);
    body_ = body;
    argument_ = argument;
    dynamic_ = dynamic;
    threads_ = static_cast<unsigned>(block.count());
    prepare(grid, block);
    Stream random{schedule.seed};
    const std::uint64_t blocks = grid.count();
    // Blocks in a permuted order without storing it: start + stride * i with stride coprime to the count.
    std::uint64_t stride = 1, start = 0;
    if (schedule.seed != 0 && blocks > 1) {
      start = random.next() % blocks;
      do stride = random.next() % blocks;
      while (std::gcd(stride, blocks) != 1);
      if (stride == 0) stride = 1;
    }
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const std::uint64_t b = static_cast<std::uint64_t>((start + static_cast<unsigned __int128>(stride) * i) % blocks);
      if (schedule.seed != 0) {
        for (auto& order : lane_order_) permute(order, random);
        permute(warp_order_, random);
      }
      run_block({static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                 static_cast<unsigned>(b / grid.x / grid.y)});
    }
    current = nullptr;
  }

  int barrier(Barrier kind, int predicate, const Site& site) {
    Lane& lane = *running_;
    if (arrived_ == 0) {
      barrier_kind_ = kind;
      barrier_site_ = &site;
      barrier_count_ = 0;
    } else if (barrier_kind_ != kind || barrier_site_->line() != site.line() ||
               std::strcmp(barrier_site_->file_name(), site.file_name()) != 0) {
      lane.state = State::at_barrier;
      lane.site = &site;
      fail("divergent barrier: threads of one block wait at different barriers");
    }
    barrier_count_ += predicate != 0;
    ++arrived_;
    lane.state = State::at_barrier;
    lane.site = &site;
    warps_[lane.index / 32].runnable &= ~(1u << lane.index % 32);
    sanitizers::release(&barrier_edge_);
    if (arrived_ == alive_)
      open_barrier();
    if (lane.state == State::at_barrier) yield(lane);
    sanitizers::acquire(&barrier_edge_);
    return static_cast<int>(lane.result);
  }

  std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width, const Site& site) {
    Lane& lane = *running_;
    const unsigned self = lane.index % 32;
    Warp& warp = warps_[lane.index / 32];
    lane.op = kind;
    lane.mask = mask;
    lane.value = value;
    lane.argument = argument;
    lane.width = width;
    lane.site = &site;
    lane.state = State::at_collective;
    warp.runnable &= ~(1u << self);
    if (!(mask >> self & 1)) fail("a thread calls a warp collective with a mask that does not name it");
    if (mask & ~warp.alive) fail("a warp collective names a lane that has exited or does not exist");
    sanitizers::release(&warp.edge);
    auto group = std::find_if(warp.groups.begin(), warp.groups.end(), [&](auto& g) { return g.mask == mask; });
    if (group == warp.groups.end()) group = warp.groups.insert(warp.groups.end(), {mask, 0});
    group->arrived |= 1u << self;
    if (group->arrived == mask) {
      warp.groups.erase(group);
      complete(warp, lane);
      if (!error_.empty()) throw Abandon{};
    } else {
      yield(lane);
    }
    sanitizers::acquire(&warp.edge);
    return lane.result;
  }

  unsigned active() const { return warps_[running_->index / 32].alive; }

  void* shared(const void* tag, std::size_t bytes, std::size_t align) {
    for (const auto& s : statics_)
      if (s.tag == tag) return s.address;
    std::size_t offset = (used_ + kRedZone + align - 1) / align * align;
    if (offset + bytes > kArena) fail("static shared memory exceeds the executor's arena");
    used_ = offset + bytes;
    sanitizers::allow(arena_ + offset, bytes);
    std::memset(arena_ + offset, kPoison, bytes);
    statics_.push_back({tag, arena_ + offset});
    return arena_ + offset;
  }
  void* dynamic() const { return arena_; }

  Schedule schedule;

 private:
  static constexpr std::size_t kArena = 2 * kMaxShared;

  void check(const Dim3& grid, const Dim3& block, std::size_t dynamic) const {
    if (running_) throw Fault("a kernel launched a kernel");
    if (grid.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
      throw Fault("invalid grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z));
    if (block.count() == 0 || block.count() > kMaxThreads)
      throw Fault("invalid block of " + std::to_string(block.count()) + " threads");
    if (dynamic > kMaxShared)
      throw Fault("dynamic shared memory of " + std::to_string(dynamic) + " bytes exceeds " + std::to_string(kMaxShared));
  }

  void prepare(const Dim3& grid, const Dim3& block) {
    while (lanes_.size() < threads_) lanes_.push_back(make_lane());
    const unsigned warps = (threads_ + 31) / 32;
    warps_.resize(warps);
    warp_order_.resize(warps);
    lane_order_.resize(warps);
    for (unsigned w = 0; w < warps; ++w) {
      warp_order_[w] = w;
      lane_order_[w].resize(std::min(32u, threads_ - 32 * w));
      for (unsigned l = 0; l < lane_order_[w].size(); ++l) lane_order_[w][l] = l;
    }
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = *lanes_[t];
      lane.index = t;
      lane.identity.threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
      lane.identity.blockDim = block;
      lane.identity.gridDim = grid;
    }
  }

  std::unique_ptr<Lane> make_lane() {
    auto lane = std::make_unique<Lane>();
    Lane* self = lane.get();
    self->stack.create();
    context::protected_fixedsize_stack allocator(kStack);
    const context::stack_context memory = allocator.allocate();
    self->stack.bottom = static_cast<const char*>(memory.sp) - memory.size;
    self->stack.size = memory.size;
    const context::preallocated place(memory.sp, memory.size, memory);
    self->fiber = context::fiber(std::allocator_arg, place, allocator, [this, self](context::fiber&& scheduler) {
      sanitizers::after_switch(self->stack, scheduler_);
      self->scheduler = std::move(scheduler);
      while (!quit_) {
        sanitizers::acquire(&launch_edge_);
        try {
          body_(argument_);
        } catch (const Abandon&) {
        } catch (const std::exception& e) {
          if (error_.empty()) error_ = std::string("exception in kernel code: ") + e.what();
        }
        sanitizers::release(&launch_edge_);
        self->state = State::done;
        leave(*self);
      }
      // The last switch: nothing of this stack is used again.
      sanitizers::before_switch(self->stack, scheduler_);
      return std::move(self->scheduler);
    });
    return lane;
  }

  void resume(Lane& lane) {
    sanitizers::before_switch(scheduler_, lane.stack);
    lane.fiber = std::move(lane.fiber).resume();
    sanitizers::after_switch(scheduler_, lane.stack);
  }
  void leave(Lane& lane) {
    sanitizers::before_switch(lane.stack, scheduler_);
    lane.scheduler = std::move(lane.scheduler).resume();
    sanitizers::after_switch(lane.stack, scheduler_);
  }
  void yield(Lane& lane) {
    leave(lane);
    if (!error_.empty()) throw Abandon{};
  }

  void run_block(const Dim3& index) {
    alive_ = threads_;
    arrived_ = 0;
    statics_.clear();
    used_ = dynamic_;
    sanitizers::allow(arena_, kArena);
    if (dynamic_ > 0) std::memset(arena_, kPoison, dynamic_);
    sanitizers::forbid(arena_ + (dynamic_ + 7) / 8 * 8, kArena - (dynamic_ + 7) / 8 * 8);
    for (unsigned w = 0; w < warps_.size(); ++w) {
      const unsigned lanes = static_cast<unsigned>(lane_order_[w].size());
      warps_[w].alive = warps_[w].runnable = lanes == 32 ? ~0u : (1u << lanes) - 1;
      warps_[w].groups.clear();
    }
    for (unsigned t = 0; t < threads_; ++t) {
      lanes_[t]->state = State::runnable;
      lanes_[t]->begun = false;
      lanes_[t]->identity.blockIdx = index;
    }
    sanitizers::release(&launch_edge_);
    while (alive_ > 0) {
      bool progress = false;
      for (unsigned w : warp_order_) progress |= run_warp(w);
      if (!progress) {
        running_ = nullptr;
        describe("no thread can go on");
        abandon();
        throw Fault(take_error());
      }
      if (!error_.empty()) {
        abandon();
        throw Fault(take_error());
      }
    }
    sanitizers::acquire(&launch_edge_);
    sanitizers::allow(arena_, kArena);
    running_ = nullptr;
  }

  /// Runs the warp until every lane of it waits for others or is done.
  bool run_warp(unsigned w) {
    Warp& warp = warps_[w];
    if (warp.runnable == 0) return false;
    while (warp.runnable != 0 && error_.empty()) {
      for (unsigned l : lane_order_[w]) {
        if (!(warp.runnable >> l & 1)) continue;
        Lane& lane = *lanes_[32 * w + l];
        running_ = &lane;
        current = &lane.identity;
        lane.begun = true;
        resume(lane);
        if (!error_.empty()) return true;
        if (lane.state == State::done) {
          warp.runnable &= ~(1u << l);
          warp.alive &= ~(1u << l);
          --alive_;
          // An exited thread is no longer waited for at a block barrier (CUDA guide, __syncthreads).
          if (alive_ > 0 && arrived_ == alive_) open_barrier();
          for (const auto& g : warp.groups)
            if (g.mask >> l & 1) {
              describe("a thread exits that a warp collective waits for");
              return true;
            }
        }
      }
    }
    return true;
  }

  void open_barrier() {
    const int total = barrier_count_;
    const int result = barrier_kind_ == Barrier::count ? total
                       : barrier_kind_ == Barrier::all ? total == static_cast<int>(arrived_)
                                                       : total > 0;
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = *lanes_[t];
      if (lane.state != State::at_barrier) continue;
      lane.result = static_cast<std::uint64_t>(result);
      lane.state = State::runnable;
      warps_[t / 32].runnable |= 1u << t % 32;
    }
    arrived_ = 0;
  }

  /// All lanes of the mask are here: computes every lane's result and wakes them.
  void complete(Warp& warp, Lane& last) {
    Lane* const* base = first_of_warp(last);
    std::uint64_t votes = 0, sum = 0;
    for (unsigned rest = last.mask; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(std::countr_zero(rest));
      const Lane& lane = *base[l];
      if (lane.op != last.op || lane.width != last.width)
        fail("lanes of one mask are in different warp collectives");
      if (lane.value != 0) votes |= std::uint64_t{1} << l;
      sum += lane.value;
    }
    for (unsigned rest = last.mask; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(std::countr_zero(rest));
      Lane& lane = *base[l];
      lane.result = result_of(lane, l, base, votes, sum);
      lane.state = State::runnable;
    }
    warp.runnable |= last.mask;
  }

  std::uint64_t result_of(const Lane& lane, unsigned l, Lane* const* base, std::uint64_t votes, std::uint64_t sum) {
    const unsigned width = static_cast<unsigned>(lane.width);
    const unsigned segment = l / width * width;
    switch (lane.op) {
      case Collective::sync: return 0;
      case Collective::shfl: return from(lane, segment + static_cast<unsigned>(lane.argument) % width, base);
      case Collective::shfl_up: {
        const auto delta = static_cast<unsigned>(lane.argument);
        return l - segment < delta ? lane.value : from(lane, l - delta, base);
      }
      case Collective::shfl_down: {
        const auto delta = static_cast<unsigned>(lane.argument);
        return l - segment + delta >= width ? lane.value : from(lane, l + delta, base);
      }
      case Collective::shfl_xor: {
        const unsigned source = l ^ static_cast<unsigned>(lane.argument);
        return source >= segment + width ? lane.value : from(lane, source, base);
      }
      case Collective::ballot: return votes;
      case Collective::all: return votes == lane.mask;
      case Collective::any: return votes != 0;
      case Collective::match_any: {
        std::uint64_t same = 0;
        for (unsigned rest = lane.mask; rest; rest &= rest - 1) {
          const unsigned o = static_cast<unsigned>(std::countr_zero(rest));
          if (base[o]->value == lane.value) same |= std::uint64_t{1} << o;
        }
        return same;
      }
      case Collective::match_all: {
        for (unsigned rest = lane.mask; rest; rest &= rest - 1)
          if (base[std::countr_zero(rest)]->value != lane.value) return 0;
        return lane.mask;
      }
      case Collective::add: return sum;
      default: break;
    }
    // min, max and the bitwise reductions, on values already mapped to unsigned order by the caller
    std::uint64_t r = lane.value;
    for (unsigned rest = lane.mask; rest; rest &= rest - 1) {
      const std::uint64_t v = base[std::countr_zero(rest)]->value;
      switch (lane.op) {
        case Collective::min: r = std::min(r, v); break;
        case Collective::max: r = std::max(r, v); break;
        case Collective::bit_and: r &= v; break;
        case Collective::bit_or: r |= v; break;
        default: break;
      }
    }
    if (lane.op == Collective::bit_xor) {
      r = 0;
      for (unsigned rest = lane.mask; rest; rest &= rest - 1) r ^= base[std::countr_zero(rest)]->value;
    }
    return r;
  }

  std::uint64_t from(const Lane& lane, unsigned source, Lane* const* base) {
    if (source >= 32 || !(lane.mask >> source & 1)) {
      describe("a shuffle reads lane " + std::to_string(source) + ", which its mask does not name (undefined on a GPU)");
      return ~std::uint64_t{0};
    }
    return base[source]->value;
  }

  Lane* const* first_of_warp(const Lane& lane) {
    for (unsigned l = 0; l < 32; ++l) {
      const unsigned t = lane.index / 32 * 32 + l;
      warp_lanes_[l] = t < threads_ ? lanes_[t].get() : nullptr;
    }
    return warp_lanes_;
  }

  [[noreturn]] void fail(const std::string& what) {
    describe(what);
    throw Abandon{};
  }

  /// Records the fault with where every unfinished thread of the block is.
  void describe(const std::string& what) {
    if (!error_.empty()) return;
    std::map<std::string, std::vector<unsigned>> where;
    for (unsigned t = 0; t < threads_; ++t) {
      const Lane& lane = *lanes_[t];
      if (lane.state == State::done) {
        where["have exited"].push_back(t);
      } else if (lane.state == State::runnable) {
        where["are elsewhere"].push_back(t);
      } else {
        std::string file = lane.site->file_name();
        file.erase(0, file.rfind('/') + 1);
        const char* call = lane.state == State::at_barrier ? "__syncthreads" : name(lane.op);
        where[std::string("wait in ") + call + " at " + file + ":" + std::to_string(lane.site->line())].push_back(t);
      }
    }
    const Dim3& b = lanes_[0]->identity.blockIdx;
    std::string text = what + "; block " + std::to_string(b.x) + ": ";
    for (const auto& [state, threads] : where) {
      text += "threads ";
      for (std::size_t i = 0, shown = 0; i < threads.size(); ++shown) {
        std::size_t j = i;
        while (j + 1 < threads.size() && threads[j + 1] == threads[j] + 1) ++j;
        if (shown == 8) {
          text += ",... (" + std::to_string(threads.size()) + " in all)";
          break;
        }
        text += (i ? "," : "") + std::to_string(threads[i]) + (j > i ? "-" + std::to_string(threads[j]) : "");
        i = j + 1;
      }
      text += " " + state + "; ";
    }
    text.resize(text.size() - 2);
    error_ = text;
  }

  /// Lets every suspended fiber unwind, so that the pool is clean for the next launch.
  void abandon() {
    if (error_.empty()) error_ = "abandoned";
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = *lanes_[t];
      // A thread that has not begun sits at the top of its fiber: running it would execute the kernel.
      if (lane.state == State::done || !lane.begun) continue;
      running_ = &lane;
      current = &lane.identity;
      while (lane.state != State::done) resume(lane);
    }
    sanitizers::acquire(&launch_edge_);
    sanitizers::allow(arena_, kArena);
    running_ = nullptr;
    current = nullptr;
  }
  std::string take_error() { return std::exchange(error_, std::string()); }

  struct Static {
    const void* tag;
    void* address;
  };

  std::byte* arena_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Warp> warps_;
  std::vector<unsigned> warp_order_;
  std::vector<std::vector<unsigned>> lane_order_;
  std::vector<Static> statics_;
  Lane* warp_lanes_[32] = {};
  sanitizers::Stack scheduler_;
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  std::size_t dynamic_ = 0, used_ = 0;
  unsigned threads_ = 0, alive_ = 0, arrived_ = 0;
  Barrier barrier_kind_ = Barrier::plain;
  const Site* barrier_site_ = nullptr;
  int barrier_count_ = 0;
  Lane* running_ = nullptr;
  std::string error_;
  bool quit_ = false;
  char barrier_edge_ = 0, launch_edge_ = 0;
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

void set_schedule(const Schedule& schedule) { executor().schedule = schedule; }
void run(Dim3 grid, Dim3 block, std::size_t dynamic_shared, void (*body)(const void*), const void* argument) {
  executor().run(grid, block, dynamic_shared, body, argument);
}
int block_barrier(Barrier kind, int predicate, const Site& site) { return executor().barrier(kind, predicate, site); }
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width, const Site& site) {
  return executor().collective(kind, mask, value, argument, width, site);
}
unsigned active_mask() { return executor().active(); }
void* static_shared(const void* tag, std::size_t bytes, std::size_t align) { return executor().shared(tag, bytes, align); }
void* dynamic_shared() { return executor().dynamic(); }

}  // namespace assay::executor
