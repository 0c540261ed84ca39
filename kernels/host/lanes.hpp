// SPDX-License-Identifier: Apache-2.0
// The executor's state: a CUDA thread, a warp, a block with its fibers and its shared memory. Also the text
// that says where the threads of blocks are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"
#include "kernels/host/switch.hpp"

namespace assay::executor {

/// Shared memory of one block: first the dynamic part, then each static array in the order in which the block
/// names them. Every byte is poisoned for every block. So is a guard behind each array: the block's end
/// checks whether somebody wrote there. Under AddressSanitizer the gaps between arrays are out of bounds.
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

// Under ThreadSanitizer, consecutive blocks run on different fibers, and nothing orders them. So a race
// between blocks shows as a race between threads.
inline constexpr unsigned kFewestBlocks = sanitizers::kThreads ? 2 : 1;

struct Block;
struct Mbarrier;

struct Lane : SwitchTarget {
  Identity identity;
  Block* home = nullptr;  // the block that it belongs to
  unsigned index = 0;     // linear thread index in the block
  unsigned position = 0;  // its place in the order in which its warp runs
  bool begun = false;     // has run some of the kernel in this block
  bool done = true;
  Collective op = Collective::sync;  // where it waits, for the text of a fault
  Barrier barrier = Barrier::plain;
  const Mbarrier* mbarrier = nullptr;
  const Site* site = nullptr;
  unsigned cluster_arrivals = 0, cluster_waits = 0;  // at the cluster's barrier
  char arrival_edge = 0, wake_edge = 0;              // addresses of the happens-before edges of __syncwarp
};

/// A warp's threads as bit masks, and the collectives they wait in.
struct Warp {
  unsigned alive = 0, runnable = 0, at_barrier = 0, at_cluster = 0, at_mbarrier = 0;
  // Lanes that wait in a collective, grouped by their mask. Masks that differ only in lanes that are not
  // alive form one group. There is almost always one group, and never more groups than lanes.
  struct Group {
    unsigned mask = 0, arrived = 0;
    Collective op = Collective::sync;
    int width = 32;
  };
  std::array<Group, 32> groups;
  unsigned group_count = 0;
  std::uint64_t offered[32] = {};  // what each lane brought to the collective it is in
  int arguments[32] = {};
  std::uint64_t results[32] = {};  // what each lane takes from its last collective
};

struct Mbarrier {
  void* word;
  int arrivals, missing;   // threads that must arrive in a phase; those that have not arrived in this one
  std::int64_t bytes = 0;  // expected and not arrived; negative if they arrived before they were expected
  unsigned phase = 0;      // number of phases that have ended
  const Lane* starter;     // who started it, and which barriers it and its block had passed then
  unsigned after_arrivals, after_barriers;
  char edge[2] = {};  // of phases in turn, for the same reason as those of barriers
};

/// A block and what it runs on: fibers, shared memory, happens-before edges.
struct Block {
  std::vector<std::unique_ptr<Lane>> lanes;
  SharedMemory memory;
  // Addresses of happens-before edges. Barriers use two in turn: a thread may arrive at the next barrier
  // before another has left this one, and what it did in between must not become visible to that one. So do
  // the ends of blocks on these fibers: a thread must not see what another one has done that ended earlier.
  char start_edge = 0, end_edge[2] = {}, barrier_edge[2] = {};
  std::vector<Warp> warps;
  unsigned alive = 0;    // threads that have not exited
  unsigned arrived = 0;  // at the block's barrier
  Barrier barrier_kind = Barrier::plain;
  const Site* barrier_site = nullptr;
  int barrier_count = 0, barrier_result = 0;
  unsigned barriers = 0;  // that have opened
  unsigned turn = 0;      // blocks that have run on these fibers
  struct OnItsWay {
    Transfer transfer;
    Mbarrier* mbarrier;
  };
  std::deque<Mbarrier> mbarriers;
  std::vector<OnItsWay> on_their_way;
};

/// `what`, and for each block where its threads are: the call and source line they wait in, elsewhere, or
/// exited.
std::string fault_text(const std::string& what, const std::vector<Block*>& blocks, unsigned threads);

}  // namespace assay::executor
