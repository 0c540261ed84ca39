// SPDX-License-Identifier: Apache-2.0
// The memory that supervisor and worker share. It is one sealed memfd, with a region for every slot and
// buffer. The worker maps exactly the bytes of the launch from each region. They are at the same address in
// every launch, and the addresses behind them are unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

inline constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

/// Where an image lies in its region. Normally the image ends where the mapping ends. With `page_end` its
/// payload ends there.
struct Placement {
  std::uint64_t image_at = 0;  // offset of the image's first byte
  std::uint64_t stored = 0;    // bytes of the image that fit: all, or those up to the page's end
  Slice slice;
};

/// `alignment`, in bytes, is the alignment of the payload's start when it is moved to a page's end. The bytes
/// that are then left between payload and page end are the image's own guard bytes. `page` is the size of a
/// page in bytes.
Placement place(const Image& image, bool page_end, std::uint64_t alignment, std::uint64_t page);

/// The alignment in bytes on which the kernel may rely for the start of buffer `b` at a page's end.
std::uint64_t alignment_of(const Variant& variant, const Problem& problem, int b);

/// The supervisor's side of the shared memory.
class Arena {
 public:
  Arena();  // throws std::system_error
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return file_; }
  /// The worker may use this many bytes of a region from now on.
  void expect(int slot, int buffer, std::uint64_t bytes);
  /// MiB that the worker may use, in all regions.
  std::int64_t expected() const { return static_cast<std::int64_t>(expected_ >> 20) + kRounded; }
  /// MiB that are in use beyond these: somebody has mapped the file elsewhere.
  std::int64_t excess() const;
  /// Gives all its pages back. Every byte then reads as zero, in the worker too.
  void clear();
  /// Copies the image in, and fills the mapped bytes in front of it with a pattern.
  void put(int slot, int buffer, const Image& image, const Placement& p);
  /// Copies the image out. False if the bytes in front of it have changed.
  bool take(int slot, int buffer, Image& image, const Placement& p);
  /// True if the bytes are still the same as when they were taken.
  bool same(int slot, int buffer, const std::byte* image, const Placement& p);
  /// Writes bytes of a region without mapping it. Bytes that were never written read as zeros and take no
  /// pages. False if there is no room.
  bool write(int slot, int buffer, std::uint64_t at, const std::byte* from, std::uint64_t bytes);
  bool read(int slot, int buffer, std::uint64_t at, std::byte* to, std::uint64_t bytes) const;

 private:
  struct View {
    std::byte* at = nullptr;
    std::uint64_t mapped = 0;
  };
  /// Throws std::bad_alloc.
  View& view(int slot, int buffer, std::uint64_t bytes);

  /// MiB: the system may round each buffer up to a large page.
  static constexpr std::int64_t kRounded = 64;

  int file_ = -1;
  std::uint64_t expected_ = 0;
  std::uint64_t expected_of_[kSlots][kBuffers] = {};
  View views_[kSlots][kBuffers];
};

}  // namespace assay::isolation
