// The executor's state: a CUDA thread, a warp, the fibers and shared memory of a block. Also the text that
// says where a block's threads are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"
#include "kernels/host/shared_memory.hpp"
#include "kernels/host/switch.hpp"

namespace assay::executor {

// Under ThreadSanitizer, consecutive blocks run on different fibers, and nothing orders them. So a race
// between blocks shows as a race between threads.
inline constexpr unsigned kPools = sanitizers::kThreads ? 2 : 1;

struct Pool;

struct Lane : SwitchTarget {
  Identity identity;
  Pool* home = nullptr;   // the pool that it belongs to
  unsigned index = 0;     // linear thread index in the block
  unsigned position = 0;  // its place in the order in which its warp runs
  bool begun = false;     // has run some of the kernel in this block
  bool done = true;
  Collective op = Collective::sync;  // where it waits, for the text of a fault
  Barrier barrier = Barrier::plain;
  const Site* site = nullptr;
  char arrival_edge = 0, wake_edge = 0;  // addresses of the happens-before edges of __syncwarp
};

/// A warp's threads as bit masks, and the collectives they wait in.
struct Warp {
  unsigned alive = 0, runnable = 0, at_barrier = 0;
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

/// Fibers, shared memory and happens-before edges of one block.
struct Pool {
  std::vector<std::unique_ptr<Lane>> lanes;
  SharedMemory memory;
  // Addresses of happens-before edges. Barriers use two in turn: a thread may arrive at the next barrier
  // before another has left this one, and what it did in between must not become visible to that one.
  char start_edge = 0, end_edge = 0, barrier_edge[2] = {};
};

/// `what`, the block, and where each thread is: the call and source line it waits in, elsewhere, or exited.
std::string fault_text(const std::string& what, const std::vector<std::unique_ptr<Lane>>& lanes,
                       const std::vector<Warp>& warps, unsigned threads);

}  // namespace assay::executor
