// SPDX-License-Identifier: Apache-2.0
// Shared memory of one block: first the dynamic part, then each static array in the order in which the block
// names them. Every byte is poisoned for every block. So is a guard behind each array: the block's end checks
// whether somebody wrote there. Under AddressSanitizer the gaps between arrays are out of bounds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

class SharedMemory {
 public:
  /// An odd `turn` swaps the words of the poison pattern.
  void open(std::size_t dynamic, unsigned turn) {
    count_ = 0;
    static_bytes_ = 0;
    turn_ = turn;
    dynamic_ = used_ = dynamic;
    sanitizers::allow(base(), kArena);
    fill(0, dynamic + kGuard);
    sanitizers::forbid(base() + dynamic, kArena - dynamic);
  }
  void close() { sanitizers::allow(base(), kArena); }
  /// The block has ended, others of its cluster run on.
  void forbid() { sanitizers::forbid(base(), kArena); }

  bool contains(const void* p) const {
    const auto* const at = static_cast<const std::byte*>(p);
    return at >= arena_.get() && at < arena_.get() + kArena;
  }

  void* dynamic() { return base(); }

  /// The static array of this tag. If a GPU could not hold it, null, and `refused` says why.
  void* array(const void* tag, std::size_t bytes, std::size_t align, const char*& refused) {
    for (unsigned i = 0; i < count_; ++i)
      if (arrays_[i].tag == tag) return base() + arrays_[i].offset;
    const std::size_t offset = (used_ + kRedZone + align - 1) / align * align;
    static_bytes_ += bytes;
    if (static_bytes_ > kMaxStaticShared)
      refused = "static shared memory exceeds 49152 bytes";
    else if (static_bytes_ + dynamic_ > kMaxShared)
      refused = "shared memory exceeds 232448 bytes";
    else if (count_ == arrays_.size() || offset + bytes + kGuard > kArena)
      refused = "too many static shared arrays";
    if (refused) return nullptr;
    used_ = offset + bytes;
    sanitizers::allow(base() + offset, bytes + kGuard);
    fill(offset, bytes + kGuard);
    sanitizers::forbid(base() + used_, kGuard);
    arrays_[count_++] = {tag, offset, bytes, align};
    return base() + offset;
  }

  /// What lies here as `p` lies in `other`. Two blocks may name their static arrays in different orders, so
  /// the array decides and not the offset. Null if `p` is in no array.
  void* counterpart(const SharedMemory& other, const void* p, const char*& refused) {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(p) - other.arena_.get());
    if (at < other.dynamic_) return base() + at;
    for (unsigned i = 0; i < other.count_; ++i)
      if (const Array& a = other.arrays_[i]; at >= a.offset && at < a.offset + a.bytes) {
        void* const array_here = array(a.tag, a.bytes, a.align, refused);
        return array_here ? static_cast<std::byte*>(array_here) + (at - a.offset) : nullptr;
      }
    return nullptr;
  }

  /// Call it after close(). Says which array was written past its end, or is empty.
  std::string overrun() {
    const sanitizers::Unseen unseen;
    for (unsigned i = 0; i <= count_; ++i) {
      const std::size_t end = i == 0 ? dynamic_ : arrays_[i - 1].offset + arrays_[i - 1].bytes;
      const std::size_t next = i == count_ ? end + kGuard : std::min(end + kGuard, arrays_[i].offset);
      alignas(8) std::array<std::byte, kGuard + 8>
          pristine;  // starts at a multiple of 8, like the pattern's words
      const std::size_t from = end / 8 * 8;
      poison(pristine.data(), next - from, turn_);
      if (std::memcmp(base() + end, pristine.data() + (end - from), next - end) == 0) continue;
      return "shared memory was written past the end of the " +
             (i == 0 ? std::to_string(dynamic_) + " bytes of dynamic shared memory that the launch asked for"
                     : "static array of " + std::to_string(arrays_[i - 1].bytes) + " bytes");
    }
    return {};
  }

 private:
  static_assert(kMaxStaticShared == 49152 && kMaxShared == 232448);
  static constexpr std::size_t kArena = 2 * kMaxShared;
  static constexpr std::size_t kRedZone = 64;
  static constexpr std::size_t kGuard = 256;

  struct Array {
    const void* tag;
    std::size_t offset, bytes, align;
  };
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  std::byte* base() { return arena_.get(); }
  void fill(std::size_t offset, std::size_t n) {
    const sanitizers::Unseen unseen;  // the first thread that names an array fills it for the whole block
    poison(base() + offset, n, turn_);
  }

  std::unique_ptr<std::byte, Free> arena_{static_cast<std::byte*>(std::aligned_alloc(128, kArena))};
  std::array<Array, 128> arrays_;
  unsigned count_ = 0, turn_ = 0;
  std::size_t dynamic_ = 0, used_ = 0, static_bytes_ = 0;
};

}  // namespace assay::executor
