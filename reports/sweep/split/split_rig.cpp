// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/split/split_rig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/device.hpp"
#include "kernels/split/nccl.hpp"

#if defined(ASSAY_WITH_CUDA)
#include <chrono>

#include "accuracy/device_array.hpp"
#include "reports/sweep/rig/open_rows.hpp"
#include "reports/sweep/rig/rig_kernels.hpp"
#include "reports/sweep/rig/rules.hpp"
#endif

namespace assay {

std::int64_t rows_of_chunk(const SplitShape& shape, int depth, std::int64_t l2_bytes) {
  const std::int64_t slice = column_slices(shape.V, shape.gpus).front().count;
  const std::int64_t row = std::max<std::int64_t>(1, slice * static_cast<std::int64_t>(size_of(shape.dtype)));
  return std::clamp<std::int64_t>(l2_bytes / 2 / depth / row, 1, std::max<std::int64_t>(1, shape.rows));
}

#if defined(ASSAY_WITH_CUDA)

std::string cannot_split(int gpus, Exchange exchange) {
  if (std::string why = unavailable_reason(Backend::cuda); !why.empty()) return why;
  if (const int there = device_count(); there < gpus)
    return fmt::format("{} GPUs are asked for, there are {}", gpus, there);
  if (exchange == Exchange::nccl) return nccl_missing();
  for (int a = 0; a < gpus; ++a)
    for (int b = 0; b < gpus; ++b) {
      int can = a == b;
      if (a != b && cudaDeviceCanAccessPeer(&can, a, b) != cudaSuccess) can = 0;
      if (!can) return fmt::format("GPU {} can not access the memory of GPU {}", a, b);
    }
  return {};
}

namespace {

std::size_t bytes_of(std::int64_t rows, std::int64_t columns, Dtype t) {
  return static_cast<std::size_t>(rows * columns) * size_of(t);
}

/// Repeats what lies at the front of `to` until it has `all` bytes.
void repeat(std::byte* to, std::size_t done, std::size_t all) {
  while (done < all) {
    const std::size_t more = std::min(done, all - done);
    check_cuda(cudaMemcpy(to + done, to, more, cudaMemcpyDeviceToDevice), "repeating the logits");
    done += more;
  }
}

}  // namespace

SplitRig::SplitRig(const SplitShape& shape, const Tensor& tile)
    : shape_(shape),
      slices_(column_slices(shape.V, shape.gpus)),
      tile_rows_(std::min(tile.rows, shape.rows)) {
  if (const std::string why = select_device(0); !why.empty()) throw std::runtime_error(why);
  cudaDeviceProp p{};
  check_cuda(cudaGetDeviceProperties(&p, 0), "asking for the device's properties");
  l2_ = p.l2CacheSize;
  for (int i = 0; i < shape.gpus; ++i) place(i, tile);
  whole_ = tile;
}

SplitRig::~SplitRig() = default;

SplitWays SplitRig::settled(SplitWays ways) const {
  if (holds(ways.exchange)) {
    ways.depth = 1;
    ways.chunk_rows = shape_.rows;
  }
  if (ways.exchange != Exchange::nccl) ways.teams = 1;
  if (ways.chunk_rows == 0) ways.chunk_rows = rows_of_chunk(shape_, ways.depth, l2_);
  return ways;
}

std::string SplitRig::cold() const {
  return flush_bytes() > 0 ? fmt::format("{:.0f} MB read before every run on every GPU",
                                         static_cast<double>(flush_bytes()) / 1e6)
                           : fmt::format("{:.1f} GB on every GPU, more than twice the L2",
                                         static_cast<double>(moved()) / 1e9);
}

void SplitRig::choose(const SplitWays& ways) {
  pipeline_.reset();
  if (holds(ways.exchange)) require_held();
  if (ways.exchange == Exchange::nccl) {
    std::vector<int> devices;
    for (const SplitMemory& m : memory_) devices.push_back(m.device);
    while (static_cast<int>(teams_.size()) < ways.teams)
      teams_.push_back(std::make_unique<NcclTeam>(devices));
  }
  if (ways.exchange != Exchange::nccl) let_all_access();
  pipeline_ = std::make_unique<SplitPipeline>(shape_, ways, memory_, teams_, flush_bytes());
}

void SplitRig::poison() {
  for (const SplitMemory& m : memory_) {
    check_cuda(cudaSetDevice(m.device), "selecting a device");
    check_cuda(cudaMemset(m.probs, 0xff, bytes_of(shape_.rows, m.slice.count, shape_.dtype)),
               "filling outputs");
    check_cuda(cudaDeviceSynchronize(), "filling outputs");
  }
}

bool SplitRig::logits_intact() {
  bool intact = true;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const SplitMemory& m = memory_[i];
    if (m.slice.count == 0) continue;
    check_cuda(cudaSetDevice(m.device), "selecting a device");
    const DeviceArray count(sizeof(unsigned long long));
    check_cuda(cudaMemset(count.data(), 0, sizeof(unsigned long long)), "counting");
    rig::enqueue_count_differences(nullptr, m.logits, bytes_of(shape_.rows, m.slice.count, shape_.dtype),
                                   tiles_[i]->data(), bytes_of(tile_rows_, m.slice.count, shape_.dtype), 0,
                                   count.as<unsigned long long>());
    check_cuda(cudaGetLastError(), "counting");
    unsigned long long differ = 0;
    check_cuda(cudaMemcpy(&differ, count.data(), sizeof differ, cudaMemcpyDeviceToHost), "counting");
    intact &= differ == 0;
  }
  return intact;
}

std::size_t SplitRig::moved() const { return 2 * bytes_of(shape_.rows, slices_.front().count, shape_.dtype); }

std::size_t SplitRig::flush_bytes() const {
  const std::size_t twice = static_cast<std::size_t>(kTimingRules.l2_sizes) * static_cast<std::size_t>(l2_);
  return moved() < twice ? twice : 0;
}

void SplitRig::place(int i, const Tensor& tile) {
  const Span slice = slices_[static_cast<std::size_t>(i)];
  check_cuda(cudaSetDevice(i), "selecting a device");
  const std::size_t all = std::max<std::size_t>(256, bytes_of(shape_.rows, slice.count, shape_.dtype));
  const std::size_t row = bytes_of(1, slice.count, shape_.dtype), whole = bytes_of(1, tile.V, shape_.dtype);
  logits_.push_back(std::make_unique<DeviceArray>(all));
  probs_.push_back(std::make_unique<DeviceArray>(all));
  tiles_.push_back(
      std::make_unique<DeviceArray>(std::max<std::size_t>(256, row * static_cast<std::size_t>(tile_rows_))));
  if (slice.count > 0) {
    const std::size_t of_tile = row * static_cast<std::size_t>(tile_rows_);
    check_cuda(
        cudaMemcpy2D(tiles_.back()->data(), row, tile.bytes.data() + bytes_of(1, slice.first, shape_.dtype),
                     whole, row, static_cast<std::size_t>(tile_rows_), cudaMemcpyHostToDevice),
        "copying logits to the device");
    check_cuda(cudaMemcpy(logits_.back()->data(), tiles_.back()->data(), of_tile, cudaMemcpyDeviceToDevice),
               "copying logits");
    repeat(logits_.back()->as<std::byte>(), of_tile, bytes_of(shape_.rows, slice.count, shape_.dtype));
  }
  check_cuda(cudaDeviceSynchronize(), "copying logits");
  memory_.push_back({i, slice, logits_.back()->as<std::byte>(), probs_.back()->as<std::byte>()});
}

void SplitRig::require_held() const {
  const SplitKernels& k = *find_split_kernels(Backend::cuda, shape_.dtype, shape_.fast);
  for (const SplitMemory& m : memory_) {
    check_cuda(cudaSetDevice(m.device), "selecting a device");
    if (!k.can_hold(m.slice.count))
      throw std::runtime_error(fmt::format("no cluster holds a slice of {} columns", m.slice.count));
  }
}

void SplitRig::let_all_access() const {
  for (int a = 0; a < shape_.gpus; ++a) {
    check_cuda(cudaSetDevice(a), "selecting a device");
    for (int b = 0; b < shape_.gpus; ++b) {
      const cudaError_t e = a == b ? cudaSuccess : cudaDeviceEnablePeerAccess(b, 0);
      if (e == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        check_cuda(e, "letting a GPU access another");
    }
  }
}

FastJudgement SplitRig::judge(double seconds, std::int64_t& open_rows) {
  constexpr std::int64_t kElements = std::int64_t{1} << 28;  // that are put together at a time
  const auto begin = std::chrono::steady_clock::now();
  const SplitKernels& k = *find_split_kernels(Backend::cuda, shape_.dtype, shape_.fast);
  const std::int64_t most = std::max<std::int64_t>(1, kElements / (tile_rows_ * shape_.V)) * tile_rows_;
  const std::int64_t at_once = std::min(most, shape_.rows);
  const std::size_t row = bytes_of(1, shape_.V, shape_.dtype), all = row * static_cast<std::size_t>(at_once);
  check_cuda(cudaSetDevice(0), "selecting a device");
  const DeviceArray logits(all), probs(all), slice(all);
  // Pieces begin at a multiple of the tile, so all have the same logits.
  const std::size_t of_tile = std::min(all, row * static_cast<std::size_t>(tile_rows_));
  check_cuda(cudaMemcpy(logits.data(), whole_.bytes.data(), of_tile, cudaMemcpyHostToDevice),
             "copying logits");
  repeat(logits.as<std::byte>(), of_tile, all);
  FastJudgement judged;
  open_rows = 0;
  for (const Span piece : row_chunks(shape_.rows, at_once)) {
    for (const SplitMemory& m : memory_) {
      const std::size_t width = bytes_of(1, m.slice.count, shape_.dtype);
      if (width == 0) continue;
      check_cuda(cudaMemcpyPeer(slice.data(), 0, m.probs + bytes_of(piece.first, m.slice.count, shape_.dtype),
                                m.device, width * static_cast<std::size_t>(piece.count)),
                 "fetching a slice");
      check_cuda(
          cudaMemcpy2D(probs.as<std::byte>() + bytes_of(1, m.slice.first, shape_.dtype), row, slice.data(),
                       width, width, static_cast<std::size_t>(piece.count), cudaMemcpyDeviceToDevice),
          "putting the slices together");
      check_cuda(cudaDeviceSynchronize(), "putting the slices together");
    }
    const Outputs o{shape_.dtype,  shape_.dtype, piece.count,  shape_.V,
                    logits.data(), shape_.V,     probs.data(), shape_.V};
    const std::vector<DeviceRow> rows = look_on_device(k.claim, k.backend, o);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::int64_t not_judged = 0;
    judged.add(judged_on_device(k.claim, k.backend, o, rows, 0, seconds - spent.count(), not_judged));
    open_rows += not_judged;
  }
  return judged;
}

#else

std::string cannot_split(int, Exchange) { return unavailable_reason(Backend::cuda); }

#endif

}  // namespace assay
