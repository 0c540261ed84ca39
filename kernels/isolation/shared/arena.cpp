// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace assay::isolation {
namespace {

/// Pattern in front of an image: NaNs, as in guard bands.
constexpr unsigned char kFront = 0xff;
/// Memory beyond this many bytes is given back before a launch that does not need it.
constexpr std::uint64_t kKept = std::uint64_t{64} << 20;

bool all_front(const std::byte* p, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    if (p[i] != static_cast<std::byte>(kFront)) return false;
  return true;
}

}  // namespace

Placement place(const Image& image, bool page_end, std::uint64_t alignment, std::uint64_t page) {
  Placement p;
  if (image.empty()) return p;
  p.slice.payload = image.payload_bytes();
  if (page_end) {
    const std::uint64_t before = image.offset();
    const std::uint64_t room = rounded_up(before + p.slice.payload + alignment - 1, page);
    p.slice.mapped = room;
    p.slice.payload_at = (room - p.slice.payload) / alignment * alignment;
    p.image_at = p.slice.payload_at - before;
    p.stored = std::min<std::uint64_t>(image.size(), room - p.image_at);
  } else {
    p.slice.mapped = rounded_up(image.size(), page);
    p.image_at = p.slice.mapped - image.size();
    p.slice.payload_at = p.image_at + image.offset();
    p.stored = image.size();
  }
  return p;
}

std::uint64_t alignment_of(const Variant& variant, const Problem& problem, int b) {
  const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(variant.limits.alignment, 1));
  switch (b) {
    case 0:
      return std::max<std::uint64_t>(rows, size_of(problem.in));
    case 1:
      return std::max<std::uint64_t>(rows, size_of(problem.out));
    case 2:
      return static_cast<std::uint64_t>(problem.index_bytes());
    case 5:
      return 256;  // the alignment that cudaMalloc gives
    case 6:
      return std::max<std::uint64_t>(rows, size_of(problem.operands.mask));
    case 7:
      return std::max<std::uint64_t>(rows, size_of(problem.operands.bias));
    case 8:
      return problem.operands.length_bytes;
    case 10:
      return std::max<std::uint64_t>(rows, size_of(problem.in));
    default:
      return sizeof(float);
  }
}

Arena::Arena() : file_(memfd_create("shm", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // Sparse: pages exist only once they are written. Sealed: a worker that truncated the file would crash its
  // supervisor.
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(region(kSlots, 0))) != 0 ||
      fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int e = errno;
    if (file_ >= 0) close(file_);
    throw std::system_error(e, std::generic_category(), "shared memory for a worker");
  }
}

Arena::~Arena() {
  for (auto& slot : views_)
    for (View& v : slot)
      if (v.at) munmap(v.at, v.mapped);
  close(file_);
}

Arena::View& Arena::view(int slot, int buffer, std::uint64_t bytes) {
  View& v = views_[slot][buffer];
  const bool too_small = v.mapped < bytes;
  const bool wasteful = v.mapped > kKept && v.mapped / 4 > bytes;
  if (!too_small && !wasteful) return v;
  if (bytes > kRegion) throw std::bad_alloc();
  if (v.at) munmap(v.at, v.mapped);
  if (wasteful)
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(region(slot, buffer)),
              static_cast<off_t>(v.mapped));
  v = {};
  const std::uint64_t mapped =
      bytes < kKept ? std::max<std::uint64_t>(rounded_up(bytes * 2, 65536), 65536) : bytes;
  void* const p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                       static_cast<off_t>(region(slot, buffer)));
  if (p == MAP_FAILED) throw std::bad_alloc();
  v.at = static_cast<std::byte*>(p);
  v.mapped = mapped;
  return v;
}

void Arena::expect(int slot, int buffer, std::uint64_t bytes) {
  std::uint64_t& of = expected_of_[slot][buffer];
  if (bytes <= of) return;
  expected_ += bytes - of;
  of = bytes;
}

std::int64_t Arena::excess() const {
  struct stat now {};
  if (fstat(file_, &now) != 0) return 0;
  constexpr std::int64_t kBlock = 512;  // bytes, whatever the file system
  return std::max<std::int64_t>(0, (static_cast<std::int64_t>(now.st_blocks) * kBlock >> 20) - expected());
}

void Arena::clear() {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(region(kSlots, 0)));
}

void Arena::put(int slot, int buffer, const Image& image, const Placement& p) {
  if (image.empty()) return;
  View& v = view(slot, buffer, p.slice.mapped);
  expect(slot, buffer, p.slice.mapped);
  std::memset(v.at, kFront, p.image_at);
  std::memcpy(v.at + p.image_at, image.data(), p.stored);
}

bool Arena::take(int slot, int buffer, Image& image, const Placement& p) {
  if (image.empty()) return true;
  const View& v = view(slot, buffer, p.slice.mapped);
  std::memcpy(image.data(), v.at + p.image_at, p.stored);
  return all_front(v.at, p.image_at);
}

bool Arena::same(int slot, int buffer, const std::byte* image, const Placement& p) {
  if (p.slice.mapped == 0) return true;
  const View& v = view(slot, buffer, p.slice.mapped);
  return std::memcmp(image, v.at + p.image_at, p.stored) == 0;
}

bool Arena::write(int slot, int buffer, std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t n = pwrite(file_, from, bytes, static_cast<off_t>(region(slot, buffer) + at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    const auto written = static_cast<std::uint64_t>(n);
    from += written, at += written, bytes -= written;
  }
  return true;
}

bool Arena::read(int slot, int buffer, std::uint64_t at, std::byte* to, std::uint64_t bytes) const {
  while (bytes > 0) {
    const ssize_t n = pread(file_, to, bytes, static_cast<off_t>(region(slot, buffer) + at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    const auto had = static_cast<std::uint64_t>(n);
    to += had, at += had, bytes -= had;
  }
  return true;
}

}  // namespace assay::isolation
