#include "kernels/isolation/worker_memory.hpp"

#include <sys/mman.h>

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

}  // namespace assay::isolation
