// SPDX-License-Identifier: Apache-2.0
// Device memory that is kept from one launch to the next. Included only where the CUDA side is compiled.
#pragma once

#include <cstddef>
#include <memory>

#include "accuracy/device_array.hpp"

namespace assay {

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

}  // namespace assay
