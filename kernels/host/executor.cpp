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

bool same_place(const Site& a, const Site& b) {
  return a.line() == b.line() && (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

}  // namespace

/// Something that can be switched to: a CUDA thread's fiber, or the scheduler on the OS thread's own stack.
struct Context {
  context::fiber fiber;  // where it goes on, while it is suspended
  sanitizers::Stack stack;
};

struct Lane : Context {
  Identity identity;
  unsigned index = 0;     // linear thread index in the block
  unsigned position = 0;  // in its warp's running order
  bool begun = false;  // has run any of the kernel in this block
  bool done = true;
  Collective op = Collective::sync;  // where it waits, for error messages
  const Site* site = nullptr;
};

namespace {

/// A warp's threads as bit masks, and the collectives they wait in.
struct Warp {
  unsigned alive = 0, runnable = 0, at_barrier = 0;
  // Lanes waiting in a collective, grouped by their mask. Almost always one group.
  struct Group {
    unsigned mask = 0, arrived = 0;
    Collective op = Collective::sync;
    int width = 32;
  };
  std::vector<Group> groups;
  std::uint64_t offered[32] = {};   // what each lane brought to the collective it is in
  std::uint64_t exchanged[32] = {};  // the same, once its whole mask had arrived: what lanes read from
  char edge = 0;                     // address of the warp's happens-before edges
};

class Executor {
 public:
  Executor() : arena_(static_cast<std::byte*>(std::aligned_alloc(128, kArena))) { main_.stack.adopt_current_thread(); }
  ~Executor() {
    quit_ = true;
    for (auto& lane : lanes_)
      if (lane->fiber) switch_between(main_, *lane);
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
        place_lanes();
      }
      run_block({static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                 static_cast<unsigned>(b / grid.x / grid.y)});
    }
    current = nullptr;
  }

  int barrier(Barrier kind, int predicate, const Site& site) {
    Lane& lane = *running_;
    Warp& warp = warps_[lane.index / 32];
    const unsigned bit = 1u << lane.index % 32;
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
    sanitizers::release(&barrier_edge_);
    if (arrived_ == alive_)
      open_barrier();
    else
      yield(lane);
    sanitizers::acquire(&barrier_edge_);
    // The next barrier cannot open before this thread arrives there: the result is still this one's.
    return barrier_result_;
  }

  std::uint64_t collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width, const Site& site) {
    Lane& lane = *running_;
    const unsigned self = lane.index % 32;
    const unsigned bit = 1u << self;
    Warp& warp = warps_[lane.index / 32];
    lane.op = kind;
    lane.site = &site;
    warp.runnable &= ~bit;
    if (!(mask & bit)) fail("a thread calls a warp collective with a mask that does not name it");
    if (mask & ~warp.alive) fail("a warp collective names a lane that has exited or does not exist");
    sanitizers::release(&warp.edge);
    warp.offered[self] = value;
    Warp::Group* group = nullptr;
    for (Warp::Group& g : warp.groups)
      if (g.mask == mask) group = &g;
    if (!group) group = &warp.groups.emplace_back(Warp::Group{mask, 0, kind, width});
    if (group->op != kind || group->width != width) fail("lanes of one mask are in different warp collectives");
    group->arrived |= bit;
    if (group->arrived == mask) {
      if (group != &warp.groups.back()) *group = warp.groups.back();
      warp.groups.pop_back();
      if (mask == ~0u)
        std::memcpy(warp.exchanged, warp.offered, sizeof warp.offered);
      else
        for (unsigned rest = mask; rest; rest &= rest - 1) warp.exchanged[std::countr_zero(rest)] = warp.offered[std::countr_zero(rest)];
      warp.runnable |= mask;
    } else {
      yield(lane);
    }
    sanitizers::acquire(&warp.edge);
    const std::uint64_t result = result_of(kind, mask, self, value, argument, width, warp.exchanged);
    if (!error_.empty()) throw Abandon{};
    return result;
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
    place_lanes();
    for (unsigned t = 0; t < threads_; ++t) {
      Lane& lane = *lanes_[t];
      lane.index = t;
      lane.identity.threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
      lane.identity.blockDim = block;
      lane.identity.gridDim = grid;
    }
  }

  void place_lanes() {
    for (unsigned w = 0; w < warps_.size(); ++w)
      for (unsigned i = 0; i < lane_order_[w].size(); ++i) lanes_[32 * w + lane_order_[w][i]]->position = i;
  }

  std::unique_ptr<Lane> make_lane() {
    auto lane = std::make_unique<Lane>();
    Lane* self = lane.get();
    self->stack.create();
    context::protected_fixedsize_stack allocator(kStack);
    const context::stack_context memory = allocator.allocate();
    self->stack.bottom = static_cast<const char*>(memory.sp) - memory.size;
    self->stack.size = memory.size;
    // Stacks begin at page boundaries. Without a different offset for each, the same few cache sets would
    // hold the live frames of every fiber, and each switch would miss.
    const std::size_t colour = lanes_.size() % 64 * 320;
    const context::preallocated place(static_cast<char*>(memory.sp) - colour, memory.size - colour, memory);
    self->fiber = context::fiber(std::allocator_arg, place, allocator, [this, self](context::fiber&& from) {
      sanitizers::after_switch(self->stack, previous_->stack);
      previous_->fiber = std::move(from);
      while (!quit_) {
        sanitizers::acquire(&launch_edge_);
        try {
          body_(argument_);
        } catch (const Abandon&) {
        } catch (const std::exception& e) {
          if (error_.empty()) error_ = std::string("exception in kernel code: ") + e.what();
        }
        sanitizers::release(&launch_edge_);
        finish(*self);
        go_on(*self);
      }
      // The last switch: nothing of this stack is used again.
      previous_ = self;
      sanitizers::before_switch(self->stack, main_.stack);
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
        Lane& next = *lanes_[32 * w + order[at]];
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
    for (const auto& g : warp.groups)
      if (g.mask >> l & 1) {
        describe("a thread exits that a warp collective waits for");
        return;
      }
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
      warps_[w].at_barrier = 0;
      warps_[w].groups.clear();
    }
    for (unsigned t = 0; t < threads_; ++t) {
      lanes_[t]->done = false;
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

  /// Runs the warp until every lane of it waits for others or is done. False if none could run.
  bool run_warp(unsigned w) {
    if (warps_[w].runnable == 0) return false;
    while (warps_[w].runnable != 0 && error_.empty())
      for (unsigned l : lane_order_[w])
        if (warps_[w].runnable >> l & 1) {
          enter(main_, *lanes_[32 * w + l]);
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
  }

  /// What lane `self` gets from a collective whose whole mask has arrived.
  std::uint64_t result_of(Collective kind, unsigned mask, unsigned self, std::uint64_t own, int argument, int lanes,
                          const std::uint64_t* values) {
    const auto width = static_cast<unsigned>(lanes);
    const unsigned segment = self / width * width;
    const auto number = static_cast<unsigned>(argument);
    const auto read = [&](unsigned source) {
      if (source < 32 && (mask >> source & 1)) return values[source];
      describe("a shuffle reads lane " + std::to_string(source) + ", which its mask does not name (undefined on a GPU)");
      return ~std::uint64_t{0};
    };
    switch (kind) {
      case Collective::sync: return 0;
      case Collective::shfl: return read(segment + number % width);
      case Collective::shfl_up: return self - segment < number ? own : read(self - number);
      case Collective::shfl_down: return self - segment + number >= width ? own : read(self + number);
      case Collective::shfl_xor: return (self ^ number) >= segment + width ? own : read(self ^ number);
      default: break;
    }
    std::uint64_t r = kind == Collective::min || kind == Collective::bit_and ? ~std::uint64_t{0} : 0;
    for (unsigned rest = mask; rest; rest &= rest - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(rest));
      const std::uint64_t v = values[l];
      const std::uint64_t bit = std::uint64_t{1} << l;
      switch (kind) {
        case Collective::ballot:
        case Collective::all:
        case Collective::any: r |= v != 0 ? bit : 0; break;
        case Collective::match_any:
        case Collective::match_all: r |= v == own ? bit : 0; break;
        case Collective::add: r += v; break;
        case Collective::min: r = std::min(r, v); break;
        case Collective::max: r = std::max(r, v); break;
        case Collective::bit_and: r &= v; break;
        case Collective::bit_or: r |= v; break;
        default: r ^= v; break;
      }
    }
    if (kind == Collective::all) return r == mask;
    if (kind == Collective::any) return r != 0;
    if (kind == Collective::match_all) return r == mask ? r : 0;
    return r;
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
      const Warp& warp = warps_[t / 32];
      if (lane.done) {
        where["have exited"].push_back(t);
      } else if ((warp.runnable >> t % 32 & 1) || !lane.site) {
        where["are elsewhere"].push_back(t);
      } else {
        std::string file = lane.site->file_name();
        file.erase(0, file.rfind('/') + 1);
        const char* call = (warp.at_barrier >> t % 32 & 1) ? "__syncthreads" : name(lane.op);
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
      if (lane.done || !lane.begun) continue;
      while (!lane.done) enter(main_, lane);
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
  Context main_;              // the scheduler
  Context* previous_ = &main_;  // who switched last
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  std::size_t dynamic_ = 0, used_ = 0;
  unsigned threads_ = 0, alive_ = 0, arrived_ = 0;
  Barrier barrier_kind_ = Barrier::plain;
  const Site* barrier_site_ = nullptr;
  int barrier_count_ = 0;
  int barrier_result_ = 0;
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
