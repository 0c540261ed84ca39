// SPDX-License-Identifier: Apache-2.0
// The rig of a GPU. It has all CUDA calls of the sweep except its few kernels.
#include "reports/data/environment.hpp"
#include "reports/sweep/rig/rig.hpp"

#if defined(ASSAY_WITH_CUDA)
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "kernels/device.hpp"
#include "kernels/isolation/shared/stopwatch.hpp"
#include "reports/build_info.hpp"
#include "reports/sweep/rig/clocks.hpp"
#include "reports/sweep/rig/device_rows.hpp"
#include "reports/sweep/rig/open_rows.hpp"
#include "reports/sweep/rig/rig_kernels.hpp"
#include "reports/sweep/rig/rules.hpp"
#include "reports/sweep/rig/worker_launches.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMostSets = 256;  // sets of buffers; more would cost memory and time to fill
/// From this size on, cudaMalloc gives a block of its own. A worker that opens memory gets its whole block.
constexpr std::size_t kBlock = std::size_t{2} << 20;

constexpr std::size_t kL2Sizes = kTimingRules.l2_sizes;

std::string megabytes(std::size_t bytes) {
  const auto b = static_cast<double>(bytes);
  return b >= 1e9   ? fmt::format("{:.1f} GB", b / 1e9)
         : b >= 1e6 ? fmt::format("{:.0f} MB", b / 1e6)
                    : fmt::format("{:.1f} kB", b / 1e3);
}

/// Which logits are in an arena, and in which layout.
struct Filled {
  int generation = 0;
  Dtype dtype = Dtype::f32;
  std::int64_t V = 0, rows = 0, sets = 0;
  const void* tile = nullptr;
  bool operator==(const Filled&) const = default;
};

class DeviceRig final : public Rig {
 public:
  DeviceRig() {
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty())
      throw std::runtime_error(why);
    check_cuda(cudaSetDevice(selected_device()), "selecting the device");
    cudaDeviceProp p{};
    check_cuda(cudaGetDeviceProperties(&p, selected_device()), "asking for the device's properties");
    l2_ = static_cast<std::size_t>(p.l2CacheSize);
    machine_.name = p.name;
    machine_.memory_bytes = p.totalGlobalMem;
    machine_.datasheet_gb_per_s = datasheet_gb_per_s(p.name);
    int clock = 0, memory_clock = 0;
    if (cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, selected_device()) == cudaSuccess)
      machine_.sm_clock_mhz = clock / 1000.0;
    if (cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, selected_device()) == cudaSuccess)
      machine_.mem_clock_mhz = memory_clock / 1000.0;
    for (const auto& [label, value] : environment()) {
      if (label == "driver") machine_.driver = value;
      if (label == "driver API" && machine_.driver.empty()) machine_.driver = "API " + value;
      if (label == "CUDA runtime") machine_.cuda = value;
    }
    // "nvcc 13.0.88, sm 90, -O3 ...": the compiler and its flags.
    const std::string text = build_info::cuda;
    const std::size_t comma = text.find(", ");
    machine_.compiler = text.substr(0, comma);
    if (comma != std::string::npos) machine_.flags = text.substr(comma + 2);
    char bus[32] = {};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, selected_device()) == cudaSuccess) bus_ = bus;
    cudaGetLastError();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    flush_bytes_ = kL2Sizes * l2_;
    small_ = std::make_unique<DeviceArray>(256);
    rows_.begin(stream_);
  }
  ~DeviceRig() override {
    worker_.forget();
    cudaStreamDestroy(stream_);
  }

  const Machine& machine() const override { return machine_; }
  std::optional<double> sm_clock_now_mhz() override {
    if (const auto c = clocks_now(bus_)) return c->sm_mhz;
    return std::nullopt;
  }

  void prepare(const Variant& variant, const Problem& problem, const Tensor& tile) override {
    variant_ = &variant;
    problem_ = problem;
    if (variant.launcher) worker_.choose(variant);
    room_ = room_for(variant, problem);
    take_sets(room_.all(), room_.logits + room_.outputs());
    // Logits are placed first, so that the next variant of the same shape can reuse them.
    const Filled wanted{arena_.generation(), problem.in, problem.V, problem.rows, sets_, tile.bytes.data()};
    if (filled_ != wanted) {
      filled_.reset();
      rows_.fill(sets(), tile);
      filled_ = wanted;
    }
    launched_ = 0;
    chosen_ = 0;
    own_stream_ = false;
    buffers_.clear();
    for (std::int64_t i = 0; i < sets_; ++i) {
      const auto n = static_cast<std::size_t>(i), sets = static_cast<std::size_t>(sets_);
      std::byte* const outputs = base_ + sets * room_.logits + n * room_.outputs();
      Buffers b;
      b.logits = base_ + n * room_.logits;
      b.probs = room_.probs > 0 ? outputs : nullptr;
      b.indices = room_.indices > 0 ? outputs + room_.probs : nullptr;
      if (room_.workspace > 0)
        b.workspace = base_ + sets * (room_.logits + room_.outputs()) + n * room_.workspace;
      buffers_.push_back(b);
    }
    in_worker_ = variant.launcher != nullptr;
    work_ = [this](std::int64_t set) {
      variant_->run(problem_, buffers_[static_cast<std::size_t>(set)], Stream{stream_});
    };
  }

  bool prepare_copy(std::size_t bytes, CopyBy by) override {
    const bool overlaps = by == CopyBy::overlapping || by == CopyBy::chained;
    if (overlaps && !rig::launches_overlap()) return false;
    const std::size_t half = std::max<std::size_t>(1, bytes / 2), stride = (half + 255) / 256 * 256;
    if (!forget_and_take(2 * stride)) return false;
    work_ = [this, half, stride, by, overlaps](std::int64_t set) {
      std::byte* const pair = base_ + static_cast<std::size_t>(set) * 2 * stride;
      if (by == CopyBy::memcpy)
        check_cuda(cudaMemcpyAsync(pair + stride, pair, half, cudaMemcpyDeviceToDevice, stream_), "copying");
      else if (overlaps)
        rig::enqueue_overlapping_copy(stream_, pair + stride, pair, half, by == CopyBy::chained);
      else
        rig::enqueue_copy(stream_, pair + stride, pair, half, by == CopyBy::streaming);
    };
    return true;
  }
  bool prepare_read(std::size_t bytes, bool chained) override {
    if (chained && !rig::launches_overlap()) return false;
    const std::size_t stride = (std::max<std::size_t>(1, bytes) + 255) / 256 * 256;
    if (!forget_and_take(stride)) return false;
    work_ = [this, bytes, stride, chained](std::int64_t set) {
      const std::byte* const from = base_ + static_cast<std::size_t>(set) * stride;
      if (chained)
        rig::enqueue_chained_read(stream_, from, bytes, small_->as<unsigned>());
      else
        rig::enqueue_read(stream_, from, bytes, small_->as<unsigned>());
    };
    return true;
  }
  bool prepare_empty() override {
    if (!forget_and_take(256)) return false;
    flushed_ = false;
    cold_ = "nothing is read";
    work_ = [this](std::int64_t) { rig::enqueue_nothing(stream_); };
    return true;
  }

  std::string cold() const override { return cold_; }
  std::int64_t most_launches() const override {
    const std::int64_t most = kTimingRules.most_launches;
    return flushed_ ? std::min(sets_, most) : most;
  }

  double run_us(std::int64_t launches) override {
    chosen_ = 0;
    if (in_worker_) {
      check_cuda(cudaStreamSynchronize(stream_), "before the launches of a worker");
      const std::int64_t first = launched_ % sets_;
      launched_ += launches;
      // What `renew` wrote is still in the caches. A copy of other memory leaves them as the copy that the
      // kernel is compared with has them before its launches.
      last_ = worker_.run(*variant_, problem_,
                          {base_, arena_.size(), arena_.generation(), sets_, room_.logits, room_.probs,
                           room_.indices, room_.workspace},
                          {first, launches, flush_bytes_, !flushed_, own_stream_});
      choices_ = last_.only_last ? 1 : std::min(launches, sets_);
      return last_.us;
    }
    double us = 0;
    const auto failed = watch_.time(stream_, {flushed_ ? flush_bytes_ : 0}, us, [&] { enqueue(launches); });
    if (failed) check_cuda(failed.error, failed.call);
    return us;
  }

  void run_alone(std::int64_t launches) override {
    if (in_worker_) throw SweepUnsupported("a profiler of this process sees nothing of a worker");
    // A memset, because a profiler would count a kernel.
    const DeviceArray flush(flush_bytes_);
    check_cuda(cudaMemsetAsync(flush.data(), 0, flush_bytes_, stream_), "flushing the L2");
    check_cuda(cudaStreamSynchronize(stream_), "flushing the L2");
    enqueue(launches);
    check_cuda(cudaStreamSynchronize(stream_), "kernel");
  }

  bool renews() const override { return in_worker_; }
  void renew(std::uint64_t draw) override {
    if (!in_worker_) return;
    std::mt19937_64 random(draw);
    const std::uint64_t first = random(), step = random();
    const bool turned = rows_.turn(sets(), first, step);
    const std::uint64_t kind = random() % 4;
    // Of one row the older results are right, so they do not stay.
    if (kind > 0 || !turned)
      rows_.fill_outputs(sets(), kind == 1 ? 0xff : kind == 2 ? 0 : 0x30 + static_cast<int>(random() % 12));
  }
  void use_own_stream(bool own) override { own_stream_ = own && in_worker_ && variant_->own_stream; }
  std::optional<TwoClocks> clocks() const override {
    if (!in_worker_ || !last_.processor_us) return std::nullopt;
    return TwoClocks{last_.us, last_.waited_us, *last_.processor_us};
  }
  void choose(std::uint64_t draw) override {
    if (in_worker_) chosen_ = static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(choices_));
  }

  // All bits set: NaN in every dtype, and not a valid index.
  void poison() override { rows_.fill_outputs(sets(), 0xff); }

  void fetch(std::int64_t row, void* values, void* indices) override {
    const Buffers& b = last();
    const std::int64_t place = rows_.turned(sets(), last_set()).place_of(row);
    const auto copy_row = [&](void* to, const void* base, std::size_t bytes) {
      const auto* from = static_cast<const std::byte*>(base) + static_cast<std::size_t>(place) * bytes;
      check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying a row from the device");
    };
    if (values && b.probs)
      copy_row(values, b.probs, static_cast<std::size_t>(problem_.out_columns()) * size_of(problem_.out));
    if (indices && b.indices)
      copy_row(indices, b.indices, static_cast<std::size_t>(problem_.k * problem_.index_bytes()));
  }

  FastJudgement judge(double seconds, std::int64_t& open_rows) override {
    const Buffers& b = last();
    Outputs o{problem_.in, problem_.out, problem_.rows, problem_.V,
              b.logits,    problem_.V,   b.probs,       problem_.V};
    // A row that repeats another one's logits and has its outputs, bit for bit, has its verdict too.
    const std::int64_t repeats = rows_.rows_repeated(sets(), last_set());
    o.rows -= repeats;
    const Claim& claim = variant_->claim;
    const std::vector<DeviceRow> rows = look_on_device(claim, variant_->backend, o);
    return judged_on_device(claim, variant_->backend, o, rows, repeats, seconds, open_rows);
  }

  bool logits_intact() override {
    const bool same = rows_.logits_intact(sets(), last_set());
    if (!same) filled_.reset();
    return same;
  }
  bool remember() override { return rows_.remember(sets(), last_set()); }
  bool as_remembered() override { return rows_.as_remembered(sets(), last_set()); }

  bool alive() override {
    cudaGetLastError();
    return cudaMemsetAsync(small_->data(), 0, 4, stream_) == cudaSuccess &&
           cudaStreamSynchronize(stream_) == cudaSuccess;
  }

 private:
  /// The set that is judged.
  std::int64_t last_set() const { return (launched_ + sets_ * 2 - 1 - chosen_) % sets_; }
  const Buffers& last() const { return buffers_[static_cast<std::size_t>(last_set())]; }
  DeviceSets sets() const { return {base_, sets_, room_, problem_}; }

  void enqueue(std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) work_(launched_++ % sets_);
    check_cuda(cudaGetLastError(), "launch");
  }

  /// Takes as many sets of `a_set` bytes as are needed to exceed the L2 twice; each set moves `moved` bytes.
  void take_sets(std::size_t a_set, std::size_t moved) {
    const std::size_t twice = kL2Sizes * l2_;
    const std::size_t half = machine_.memory_bytes / 2;
    std::int64_t wanted = static_cast<std::int64_t>((twice + moved - 1) / std::max<std::size_t>(1, moved));
    wanted = std::clamp<std::int64_t>(wanted, 1, kMostSets);
    sets_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(half / std::max<std::size_t>(1, a_set)), 1,
                                     wanted);
    const std::size_t all = static_cast<std::size_t>(sets_) * moved;
    flushed_ = all < twice;
    if (flushed_)
      cold_ = fmt::format("{} read before every sample, no buffer used twice in one", megabytes(twice));
    else if (sets_ == 1)
      cold_ = fmt::format("one set of buffers, {}, larger than twice the L2 ({})", megabytes(all),
                          megabytes(l2_));
    else
      cold_ = fmt::format("{} sets of buffers in turn, {}, more than twice the L2 ({})", sets_,
                          megabytes(all), megabytes(l2_));
    const std::size_t bytes = static_cast<std::size_t>(sets_) * a_set;
    // What was remembered gives way.
    if (bytes > room_for_sets()) rows_.forget();
    const std::size_t room = room_for_sets();
    if (bytes > room)
      throw SweepUnsupported(
          fmt::format("needs {} of device memory, there are {}", megabytes(bytes), megabytes(room)));
    if (bytes > arena_.size()) worker_.forget();
    base_ = arena_.at_least(std::max(bytes, kBlock));
  }

  std::size_t room_for_sets() const {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    return (free + arena_.size()) / 100 * 97;
  }

  /// For launches that need no logits. False if there is not enough memory.
  bool forget_and_take(std::size_t a_set) {
    filled_.reset();
    room_ = {};
    launched_ = 0;
    in_worker_ = false;
    try {
      take_sets(a_set, a_set);
    } catch (const SweepUnsupported&) {
      return false;
    }
    return true;
  }

  Machine machine_;
  std::string bus_;
  std::size_t l2_ = 0;
  cudaStream_t stream_ = nullptr;
  isolation::Stopwatch watch_;
  std::size_t flush_bytes_ = 0;
  std::unique_ptr<DeviceArray> small_;
  Arena arena_;
  DeviceRows rows_;
  WorkerLaunches worker_;  // before the arena is gone, the worker closes it

  const Variant* variant_ = nullptr;
  Problem problem_;
  Room room_;
  std::byte* base_ = nullptr;
  std::int64_t sets_ = 0, launched_ = 0;
  std::int64_t chosen_ = 0,
               choices_ = 1;  // the judged set was launched so many before the last one; of so many
  TimedOutcome last_;         // of the worker
  bool own_stream_ = false;
  std::vector<Buffers> buffers_;
  std::function<void(std::int64_t)> work_;
  bool in_worker_ = false;  // what is launched is a kernel of worker_, not work_
  bool flushed_ = false;
  std::string cold_;
  std::optional<Filled> filled_;
};

}  // namespace

std::unique_ptr<Rig> make_device_rig() { return std::make_unique<DeviceRig>(); }

}  // namespace assay

#else

namespace assay {

std::unique_ptr<Rig> make_device_rig() { throw std::runtime_error("this build has no CUDA side"); }

}  // namespace assay

#endif
