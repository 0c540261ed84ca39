// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/memory.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace assay::isolation {

bool WorkerMemory::reserve() {
  void* const p =
      mmap(nullptr, region(kSlots, 0), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(p);
  return true;
}

std::string WorkerMemory::map(int slot, const Slice (&slices)[kBuffers], std::array<void*, kBuffers>& at) {
  at = {};
  for (int b = 0; b < kBuffers; ++b) {
    const Slice& s = slices[b];
    std::uint64_t& now = mapped_[slot][b];
    std::byte* const start = base_ + region(slot, b);
    if (s.mapped > now && mmap(start + now, s.mapped - now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                               file_, static_cast<off_t>(region(slot, b) + now)) == MAP_FAILED)
      return "shared memory for the " + std::string(kBufferNames[static_cast<std::size_t>(b)]) +
             " can not be mapped";
    if (s.mapped < now && mmap(start + s.mapped, now - s.mapped, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      return "shared memory for the " + std::string(kBufferNames[static_cast<std::size_t>(b)]) +
             " can not be unmapped";
    now = s.mapped;
    if (s.mapped > 0) at[static_cast<std::size_t>(b)] = start + s.payload_at;
  }
  return {};
}

std::string WorkerMemory::repeat(const Windows& windows) {
  const std::uint64_t mapped = mapped_[0][0];
  const std::uint64_t pattern = region(0, 0) + (mapped + kWindow - 1) / kWindow * kWindow;
  const std::uint32_t* const end = windows.own + std::min(windows.count, kOwn);
  for (std::uint64_t w = 0; w * kWindow < mapped; ++w) {
    if (std::binary_search(windows.own, end, w)) continue;
    if (mmap(base_ + region(0, 0) + w * kWindow, std::min(kWindow, mapped - w * kWindow),
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file_,
             static_cast<off_t>(pattern)) == MAP_FAILED)
      return "shared memory for the logits can not be mapped again and again";
  }
  return {};
}

}  // namespace assay::isolation
