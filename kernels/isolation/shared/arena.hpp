// The memory that supervisor and worker share: one sealed memfd, with a region for every slot and buffer. A
// worker sees of each region exactly the bytes of the launch, at the same address launch after launch, with
// unmapped addresses behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// Where an image lies in its region. The image ends where the mapping ends; with `page_end` its payload
/// does.
struct Placement {
  std::uint64_t image_at = 0;  // of the image's first byte
  std::uint64_t stored = 0;  // bytes of the image that there is room for: all, or those up to the page's end
  Slice slice;
};

/// `alignment`, in bytes, is that of the payload's start where it is moved to a page's end: what lies between
/// payload and page then are the image's own guard bytes. `page` is what memory is mapped by.
Placement place(const Image& image, bool page_end, std::uint64_t alignment, std::uint64_t page);

/// Bytes that the kernel may count on for the start of buffer `b` at a page's end.
std::uint64_t alignment_of(const Variant& variant, const Problem& problem, int b);

/// The supervisor's side.
class Arena {
 public:
  Arena();  // throws std::system_error
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return file_; }
  /// Copies the image in, fills what is mapped in front of it with a pattern.
  void put(int slot, int buffer, const Image& image, const Placement& p);
  /// Copies it out. False if the bytes in front of the image were changed.
  bool take(int slot, int buffer, Image& image, const Placement& p);
  /// Whether the bytes are still those that were taken.
  bool same(int slot, int buffer, const std::byte* image, const Placement& p);
  /// Bytes of a region, past any mapping: what was never written reads as zeros and stays without pages.
  /// False where there is no room.
  bool write(int slot, int buffer, std::uint64_t at, const std::byte* from, std::uint64_t bytes);
  bool read(int slot, int buffer, std::uint64_t at, std::byte* to, std::uint64_t bytes) const;

 private:
  struct View {
    std::byte* at = nullptr;
    std::uint64_t mapped = 0;
  };
  /// Throws std::bad_alloc.
  View& view(int slot, int buffer, std::uint64_t bytes);

  int file_ = -1;
  View views_[kSlots][kBuffers];
};

}  // namespace assay::isolation
