// SPDX-License-Identifier: Apache-2.0
// The executor's state: a CUDA thread, a warp, a block with its fibers and its shared memory. Also the text
// that says where the threads of blocks are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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
