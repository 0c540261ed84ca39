// SPDX-License-Identifier: Apache-2.0
// The rig of a GPU. It has all CUDA calls of the sweep except its few kernels.
#include "reports/data/environment.hpp"
#include "reports/sweep/rig/rig.hpp"

#if defined(ASSAY_WITH_CUDA)
#include <fmt/format.h>

#include <algorithm>

#include "kernels/device.hpp"
#include "kernels/isolation/shared/stopwatch.hpp"
#include "reports/build_info.hpp"
#include "reports/sweep/rig/arena.hpp"
#include "reports/sweep/rig/clocks.hpp"
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
      fill(tile);
      filled_ = wanted;
    }
    launched_ = 0;
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
    if (by == CopyBy::overlapping && !rig::launches_overlap()) return false;
    const std::size_t half = std::max<std::size_t>(1, bytes / 2), stride = (half + 255) / 256 * 256;
    if (!forget_and_take(2 * stride)) return false;
    work_ = [this, half, stride, by](std::int64_t set) {
      std::byte* const pair = base_ + static_cast<std::size_t>(set) * 2 * stride;
      if (by == CopyBy::memcpy)
        check_cuda(cudaMemcpyAsync(pair + stride, pair, half, cudaMemcpyDeviceToDevice, stream_), "copying");
      else if (by == CopyBy::overlapping)
        rig::enqueue_overlapping_copy(stream_, pair + stride, pair, half);
      else
        rig::enqueue_copy(stream_, pair + stride, pair, half, by == CopyBy::streaming);
    };
    return true;
  }
  bool prepare_read(std::size_t bytes) override {
    const std::size_t stride = (std::max<std::size_t>(1, bytes) + 255) / 256 * 256;
    if (!forget_and_take(stride)) return false;
    work_ = [this, bytes, stride](std::int64_t set) {
      rig::enqueue_read(stream_, base_ + static_cast<std::size_t>(set) * stride, bytes,
                        small_->as<unsigned>());
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
    const std::size_t cold = flushed_ ? flush_bytes_ : 0;
    if (in_worker_) {
      check_cuda(cudaStreamSynchronize(stream_), "before the launches of a worker");
      const std::int64_t first = launched_ % sets_;
      launched_ += launches;
      return worker_.run_us(*variant_, problem_,
                            {base_, arena_.size(), arena_.generation(), sets_, room_.logits, room_.probs,
                             room_.indices, room_.workspace},
                            {first, launches, cold});
    }
    double us = 0;
    const auto failed = watch_.time(stream_, cold, us, [&] { enqueue(launches); });
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

  void poison() override {
    const std::size_t bytes = static_cast<std::size_t>(sets_) * room_.outputs();
    // All bits set: NaN in every dtype, and not a valid index.
    check_cuda(cudaMemsetAsync(base_ + static_cast<std::size_t>(sets_) * room_.logits, 0xff, bytes, stream_),
               "filling outputs");
    check_cuda(cudaStreamSynchronize(stream_), "filling outputs");
  }

  void fetch(std::int64_t row, void* values, void* indices) override {
    const Buffers& b = last();
    const auto copy_row = [&](void* to, const void* base, std::size_t bytes) {
      const auto* from = static_cast<const std::byte*>(base) + static_cast<std::size_t>(row) * bytes;
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
    const std::int64_t repeats = rows_repeated();
    o.rows -= repeats;
    const Claim& claim = variant_->claim;
    const std::vector<DeviceRow> rows = look_on_device(claim, variant_->backend, o);
    return judged_on_device(claim, variant_->backend, o, rows, repeats, seconds, open_rows);
  }

  bool logits_intact() override {
    const bool same =
        equal(last().logits, static_cast<std::size_t>(problem_.rows * problem_.V) * size_of(problem_.in),
              tile_.at_least(0), tile_bytes_);
    if (!same) filled_.reset();
    return same;
  }

  bool remember() override {
    const std::size_t bytes = room_.outputs();
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (bytes > kept_.size() && bytes - kept_.size() > free / 100 * 90) return false;
    check_cuda(cudaMemcpyAsync(kept_.at_least(std::max<std::size_t>(bytes, 256)), outputs_of_last(), bytes,
                               cudaMemcpyDeviceToDevice, stream_),
               "keeping the outputs");
    return true;
  }
  bool as_remembered() override {
    return room_.outputs() == 0 ||
           equal(outputs_of_last(), room_.outputs(), kept_.at_least(0), room_.outputs());
  }

  bool alive() override {
    cudaGetLastError();
    return cudaMemsetAsync(small_->data(), 0, 4, stream_) == cudaSuccess &&
           cudaStreamSynchronize(stream_) == cudaSuccess;
  }

 private:
  const Buffers& last() const { return buffers_[static_cast<std::size_t>((launched_ + sets_ - 1) % sets_)]; }

  /// Number of rows behind the tile's own rows if each has exactly the outputs of the row that it repeats;
  /// else 0.
  std::int64_t rows_repeated() {
    const std::size_t row = static_cast<std::size_t>(problem_.V) * size_of(problem_.in);
    const auto own = static_cast<std::int64_t>(row > 0 ? tile_bytes_ / row : 0);
    const std::int64_t more = problem_.rows - own;
    if (own <= 0 || more <= 0) return 0;
    const auto* const outputs = static_cast<const std::byte*>(last().probs);
    const std::size_t of_tile = static_cast<std::size_t>(own) * row;
    return equal(outputs + of_tile, static_cast<std::size_t>(more) * row, outputs, of_tile) ? more : 0;
  }

  /// Values, then indices, with the poison between them: each part is a multiple of 256 bytes.
  const std::byte* outputs_of_last() const {
    const std::int64_t set = (launched_ + sets_ - 1) % sets_;
    return base_ + static_cast<std::size_t>(sets_) * room_.logits +
           static_cast<std::size_t>(set) * room_.outputs();
  }
  /// True if what lies at `x` is the tile, repeated.
  bool equal(const void* x, std::size_t bytes, const void* tile, std::size_t tile_bytes) {
    auto* const count = small_->as<unsigned long long>() + 8;
    check_cuda(cudaMemsetAsync(count, 0, sizeof *count, stream_), "counting");
    rig::enqueue_count_differences(stream_, x, bytes, tile, tile_bytes, count);
    check_cuda(cudaGetLastError(), "counting");
    unsigned long long differ = 0;
    check_cuda(cudaMemcpyAsync(&differ, count, sizeof differ, cudaMemcpyDeviceToHost, stream_), "counting");
    check_cuda(cudaStreamSynchronize(stream_), "counting");
    return differ == 0;
  }

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
    if (bytes > room_for_sets()) kept_.release();
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

  void fill(const Tensor& tile) {
    const std::size_t all = static_cast<std::size_t>(problem_.rows * problem_.V) * size_of(problem_.in);
    tile_bytes_ = std::min(tile.bytes.size(), all);
    std::byte* const source = tile_.at_least(tile_bytes_);
    // Uses the stream of the copies below. A plain cudaMemcpy from pageable memory returns before the data
    // has arrived, and this stream does not wait for the default one.
    check_cuda(cudaMemcpyAsync(source, tile.bytes.data(), tile_bytes_, cudaMemcpyHostToDevice, stream_),
               "copying logits to the device");
    for (std::int64_t i = 0; i < sets_; ++i) {
      std::byte* const to = base_ + static_cast<std::size_t>(i) * room_.logits;
      // Copies the tile once, then doubles what is there.
      std::size_t done = tile_bytes_;
      const auto copy = [&](std::byte* there, const std::byte* from, std::size_t bytes) {
        check_cuda(cudaMemcpyAsync(there, from, bytes, cudaMemcpyDeviceToDevice, stream_),
                   "repeating the logits");
      };
      copy(to, source, done);
      while (done < all) {
        const std::size_t more = std::min(done, all - done);
        copy(to + done, to, more);
        done += more;
      }
    }
    check_cuda(cudaStreamSynchronize(stream_), "repeating the logits");
  }

  Machine machine_;
  std::string bus_;
  std::size_t l2_ = 0;
  cudaStream_t stream_ = nullptr;
  isolation::Stopwatch watch_;
  std::size_t flush_bytes_ = 0;
  std::unique_ptr<DeviceArray> small_;
  Arena arena_, tile_, kept_;
  WorkerLaunches worker_;  // before the arena is gone, the worker closes it
  std::size_t tile_bytes_ = 0;

  const Variant* variant_ = nullptr;
  Problem problem_;
  Room room_;
  std::byte* base_ = nullptr;
  std::int64_t sets_ = 0, launched_ = 0;
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
