// SPDX-License-Identifier: Apache-2.0
// The rows of the sets of a GPU's rig: logits put there, turned and compared, outputs filled, kept and
// compared. Included only where the CUDA side is compiled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "accuracy/device_array.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/rig/rig_kernels.hpp"

namespace assay {

// Device memory that is kept from one launch to the next. Included only where the CUDA side is compiled.

/// Device memory that only grows: an allocation costs more than most launches.
class Arena {
 public:
  std::byte* at_least(std::size_t bytes) {
    if (bytes > size_) {
      array_.reset();
      size_ = 0;
      array_ = std::make_unique<DeviceArray>(bytes);
      size_ = bytes;
      ++generation_;
    }
    return array_->as<std::byte>();
  }
  void release() {
    array_.reset();
    size_ = 0;
    ++generation_;
  }
  std::size_t size() const { return size_; }
  /// Changes when the memory was replaced: then its contents are lost, even if the address is the same.
  int generation() const { return generation_; }

 private:
  std::unique_ptr<DeviceArray> array_;
  std::size_t size_ = 0;
  int generation_ = 0;
};

/// Where the sets lie: logits first, then the outputs of each set.
struct DeviceSets {
  std::byte* base = nullptr;
  std::int64_t count = 0;
  Room room;
  Problem problem;

  std::byte* logits(std::int64_t set) const { return base + static_cast<std::size_t>(set) * room.logits; }
  /// Values, then indices: each part is a multiple of 256 bytes.
  std::byte* outputs(std::int64_t set) const {
    return logits(count) + static_cast<std::size_t>(set) * room.outputs();
  }
  std::size_t logit_row() const { return static_cast<std::size_t>(problem.V) * size_of(problem.in); }
  std::size_t value_row() const {
    return room.probs > 0 ? static_cast<std::size_t>(problem.out_columns()) * size_of(problem.out) : 0;
  }
  std::size_t index_row() const {
    return room.indices > 0 ? static_cast<std::size_t>(problem.k * problem.index_bytes()) : 0;
  }
};

/// All functions throw std::runtime_error.
class DeviceRows {
 public:
  void begin(cudaStream_t stream) {
    stream_ = stream;
    count_ = std::make_unique<DeviceArray>(256);
  }

  /// Repeats the tile's rows in every set.
  void fill(const DeviceSets& s, const Tensor& tile) {
    const std::size_t all = rows_of(s) * s.logit_row();
    tile_bytes_ = std::min(tile.bytes.size(), all);
    distinct_ = std::max<std::int64_t>(
        1, s.logit_row() > 0 ? static_cast<std::int64_t>(tile_bytes_ / s.logit_row()) : 0);
    first_ = step_ = 0;
    std::byte* const source = tile_.at_least(std::max<std::size_t>(tile_bytes_, 256));
    // Uses the stream of the copies below. A plain cudaMemcpy from pageable memory returns before the data
    // has arrived, and this stream does not wait for the default one.
    check_cuda(cudaMemcpyAsync(source, tile.bytes.data(), tile_bytes_, cudaMemcpyHostToDevice, stream_),
               "copying logits to the device");
    put(s);
    wait("repeating the logits");
  }
  /// Turns the rows of every set, each set by others: by multiples of `unit` rows. False if all rows are one.
  bool turn(const DeviceSets& s, std::uint64_t first, std::uint64_t step) {
    if (distinct_ <= 1) return false;
    const std::int64_t unit = Turned::unit(distinct_);
    const auto units = static_cast<std::uint64_t>(distinct_ / unit);
    first_ = static_cast<std::int64_t>(first % units) * unit;
    step_ = static_cast<std::int64_t>(step % units) * unit;
    put(s);
    wait("turning the logits");
    return true;
  }
  void fill_outputs(const DeviceSets& s, int byte) {
    check_cuda(
        cudaMemsetAsync(s.outputs(0), byte, static_cast<std::size_t>(s.count) * s.room.outputs(), stream_),
        "filling outputs");
    wait("filling outputs");
  }
  /// The rows of a set.
  Turned turned(const DeviceSets& s, std::int64_t set) const {
    return {s.problem.rows, distinct_, (first_ + set * step_) % distinct_};
  }
  bool logits_intact(const DeviceSets& s, std::int64_t set) {
    return equal(s.logits(set), rows_of(s) * s.logit_row(), tile_.at_least(0), tile_bytes_,
                 static_cast<std::size_t>(turned(s, set).turn) * s.logit_row());
  }

  /// Keeps the outputs of a set. False if there is no memory for it.
  bool remember(const DeviceSets& s, std::int64_t set) {
    const std::size_t bytes = s.room.outputs();
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (bytes > kept_.size() && bytes - kept_.size() > free / 100 * 90) return false;
    check_cuda(cudaMemcpyAsync(kept_.at_least(std::max<std::size_t>(bytes, 256)), s.outputs(set), bytes,
                               cudaMemcpyDeviceToDevice, stream_),
               "keeping the outputs");
    kept_turn_ = turned(s, set).turn;
    return true;
  }
  void forget() { kept_.release(); }
  /// True if every row of a set has the bits of a row that was kept and has the same logits.
  bool as_remembered(const DeviceSets& s, std::int64_t set) {
    const std::int64_t shift = (turned(s, set).turn - kept_turn_ + distinct_) % distinct_;
    // Rows that were not turned need not be equal to those that repeat them.
    const auto of_kept = static_cast<std::size_t>(shift == 0 ? s.problem.rows : distinct_);
    const auto same = [&](std::size_t at, std::size_t row) {
      return row == 0 || equal(s.outputs(set) + at, rows_of(s) * row, kept_.at_least(0) + at, of_kept * row,
                               static_cast<std::size_t>(shift) * row);
    };
    return same(0, s.value_row()) && same(s.room.probs, s.index_row());
  }

  /// Number of rows behind the tile's own rows if each has exactly the values of the row that it repeats;
  /// else 0.
  std::int64_t rows_repeated(const DeviceSets& s, std::int64_t set) {
    const std::int64_t more = s.problem.rows - distinct_;
    if (s.logit_row() == 0 || more <= 0) return 0;
    const std::byte* const values = s.outputs(set);
    const std::size_t of_tile = static_cast<std::size_t>(distinct_) * s.value_row();
    return equal(values + of_tile, static_cast<std::size_t>(more) * s.value_row(), values, of_tile, 0) ? more
                                                                                                       : 0;
  }

 private:
  static std::size_t rows_of(const DeviceSets& s) { return static_cast<std::size_t>(s.problem.rows); }

  void put(const DeviceSets& s) {
    const std::size_t row = s.logit_row();
    if (tile_bytes_ == 0) return;
    rig::enqueue_turned(stream_, s.base, s.room.logits, s.count, rows_of(s) * row, tile_.at_least(0),
                        tile_bytes_, row, static_cast<std::size_t>(first_) * row,
                        static_cast<std::size_t>(step_) * row);
    check_cuda(cudaGetLastError(), "repeating the logits");
  }
  void wait(const char* what) { check_cuda(cudaStreamSynchronize(stream_), what); }

  /// True if what lies at `x` is the tile, repeated, from its byte `shift` on.
  bool equal(const void* x, std::size_t bytes, const void* tile, std::size_t tile_bytes, std::size_t shift) {
    if (bytes == 0) return true;
    auto* const count = count_->as<unsigned long long>();
    check_cuda(cudaMemsetAsync(count, 0, sizeof *count, stream_), "counting");
    rig::enqueue_count_differences(stream_, x, bytes, tile, tile_bytes, shift, count);
    check_cuda(cudaGetLastError(), "counting");
    unsigned long long differ = 0;
    check_cuda(cudaMemcpyAsync(&differ, count, sizeof differ, cudaMemcpyDeviceToHost, stream_), "counting");
    wait("counting");
    return differ == 0;
  }

  cudaStream_t stream_ = nullptr;
  std::unique_ptr<DeviceArray> count_;
  Arena tile_, kept_;
  std::size_t tile_bytes_ = 0;
  std::int64_t distinct_ = 1;
  std::int64_t first_ = 0, step_ = 0, kept_turn_ = 0;  // in rows: set i is turned by first + i * step
};

}  // namespace assay
