// Shared memory of one block: dynamic first, then each static array where it is first named. Every byte is
// poisoned for every block, and so is what lies behind each array: whether that was written is seen at the
// block's end. Under AddressSanitizer the gaps between arrays are out of bounds.
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
  /// An odd `turn` poisons with the words of the pattern swapped.
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

  void* dynamic() { return base(); }

  /// The static array of this tag. Null, and the reason in `refused`, if a GPU could not hold it.
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
    arrays_[count_++] = {tag, offset, bytes};
    return base() + offset;
  }

  /// Once the block is over and closed: what was written behind an array's end; empty if nothing was.
  std::string overrun() {
    const sanitizers::Unseen unseen;
    for (unsigned i = 0; i <= count_; ++i) {
      const std::size_t end = i == 0 ? dynamic_ : arrays_[i - 1].offset + arrays_[i - 1].bytes;
      const std::size_t next = i == count_ ? end + kGuard : std::min(end + kGuard, arrays_[i].offset);
      alignas(8) std::array<std::byte, kGuard + 8>
          pristine;  // from a multiple of 8, as the pattern's words are placed
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
    std::size_t offset, bytes;
  };
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  std::byte* base() { return arena_.get(); }
  void fill(std::size_t offset, std::size_t n) {
    const sanitizers::Unseen unseen;  // the first thread to name an array fills it, on behalf of the block
    poison(base() + offset, n, turn_);
  }

  std::unique_ptr<std::byte, Free> arena_{static_cast<std::byte*>(std::aligned_alloc(128, kArena))};
  std::array<Array, 128> arrays_;
  unsigned count_ = 0, turn_ = 0;
  std::size_t dynamic_ = 0, used_ = 0, static_bytes_ = 0;
};

}  // namespace assay::executor
