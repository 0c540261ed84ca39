// Shared memory of one block: dynamic first, then each static array where it is first named. Every byte is
// poisoned for every block, and under AddressSanitizer the gaps between arrays are out of bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay::executor {

class SharedMemory {
 public:
  void open(std::size_t dynamic) {
    count_ = 0;
    static_bytes_ = 0;
    dynamic_ = used_ = dynamic;
    sanitizers::allow(base(), kArena);
    if (dynamic > 0) poison(base(), dynamic);
    sanitizers::forbid(base() + dynamic, kArena - dynamic);
  }
  void close() { sanitizers::allow(base(), kArena); }

  void* dynamic() { return base(); }

  /// The static array of this tag. Null, and the reason in `refused`, if a GPU could not hold it.
  void* array(const void* tag, std::size_t bytes, std::size_t align, const char*& refused) {
    for (unsigned i = 0; i < count_; ++i)
      if (arrays_[i].tag == tag) return arrays_[i].address;
    const std::size_t offset = (used_ + kRedZone + align - 1) / align * align;
    static_bytes_ += bytes;
    if (static_bytes_ > kMaxStaticShared)
      refused = "static shared memory exceeds 49152 bytes";
    else if (static_bytes_ + dynamic_ > kMaxShared)
      refused = "shared memory exceeds 232448 bytes";
    else if (count_ == arrays_.size() || offset + bytes > kArena)
      refused = "too many static shared arrays";
    if (refused) return nullptr;
    used_ = offset + bytes;
    sanitizers::allow(base() + offset, bytes);
    poison(base() + offset, bytes);
    arrays_[count_++] = {tag, base() + offset};
    return base() + offset;
  }

 private:
  static_assert(kMaxStaticShared == 49152 && kMaxShared == 232448);
  static constexpr std::size_t kArena = 2 * kMaxShared;
  static constexpr std::size_t kRedZone = 64;

  struct Array {
    const void* tag;
    void* address;
  };
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  std::byte* base() { return arena_.get(); }
  static void poison(std::byte* p, std::size_t n) {
    const sanitizers::Unseen unseen;  // the first thread to name an array fills it, on behalf of the block
    std::memset(p, kPoison, n);
  }

  std::unique_ptr<std::byte, Free> arena_{static_cast<std::byte*>(std::aligned_alloc(128, kArena))};
  std::array<Array, 128> arrays_;
  unsigned count_ = 0;
  std::size_t dynamic_ = 0, used_ = 0, static_bytes_ = 0;
};

}  // namespace assay::executor
