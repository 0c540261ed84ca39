// SPDX-License-Identifier: Apache-2.0
// The host executor runs a CUDA kernel's source on the CPU, with one fiber per CUDA thread. It is a test
// instrument:
// - Barriers and shuffles meet by mask. A divergent or missing arrival is an error that names every thread's
//   source line.
// - Shared memory is poisoned for every block.
// - A seed decides the order in which threads, warps and blocks run.
//
// - The blocks of a cluster run at the same time, and reach each other's shared memory. What is sent to a
//   block arrives as late as a GPU allows: when the block waits for it.
//
// What it cannot show: the host libm's expf is not the device's. There is no weak memory model, no mma and no
// cooperative grid. A record made here never stands in for one made on a GPU. Under ThreadSanitizer, atomics
// order memory; on a GPU that takes a fence. So a missing __threadfence is not seen. There, what is sent
// arrives at once, and orders all that its thread did before; on a GPU it orders only itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

namespace assay {
enum class FaultKind : std::int32_t;  // kernels/fault_kind.hpp
}

namespace assay::executor {

using Site = std::source_location;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3() = default;
  constexpr Dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// The kernel misused the machine: divergent barrier, shuffle from a lane outside the mask, bad launch.
struct Fault : std::runtime_error {
  Fault(const std::string& what, FaultKind k) : std::runtime_error(what), kind(k) {}
  FaultKind kind;
  // By kernel code.
  static Fault trap();
  static Fault bad_launch(const std::string& what);
  static Fault misaligned(const char* what);
};

/// The largest launch that the executor accepts: the limits of an H200.
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr std::size_t kMaxShared = 232448;
inline constexpr std::size_t kMaxStaticShared = 49152;
inline constexpr unsigned kMaxCluster = 16;
/// Most threads of a cluster. A GPU holds 16 blocks of 1024; here each thread takes a stack.
inline constexpr unsigned kMaxClusterThreads = 2048;

/// How launches of this OS thread are scheduled.
struct Schedule {
  std::uint64_t seed = 0;  // 0: threads, warps and blocks in index order; else a permutation of each
};
void set_schedule(const Schedule& schedule);

/// For two launches at the same time on two OS threads. `turn` is called between two kernels of the later
/// launches of this OS thread (kKernel), between two blocks and between two warps. It may wait until the
/// other thread has gone on. So a kernel that keeps something in memory that all its launches share meets
/// another launch every time, and not by chance. Null: it is not called.
enum Step : int { kKernel = 1, kBlock = 2, kWarp = 3 };
void take_turns(void (*turn)(int step));

/// A hash of the launches of this OS thread since set_schedule. From each launch it takes the block, the
/// shared memory, and the size of the grid rounded to a power of two. So a search learns that a launcher took
/// another path. 0 before the first launch.
std::uint64_t dispatch();

/// Runs `body` once for every thread of the grid. `cluster`: number of blocks of a cluster, neighbours in x.
/// Throws Fault; a faulted launch has run partially.
void run(Dim3 grid, Dim3 block, std::size_t dynamic_shared, void (*body)(const void*), const void* argument,
         unsigned cluster = 1);

// What kernel code sees, through kernels/host/cuda_core.hpp.

struct Lane;
/// The indices and sizes of the CUDA thread now running on this OS thread.
struct Identity {
  Dim3 threadIdx, blockIdx, blockDim, gridDim;
};
extern constinit thread_local const Identity* current;

enum class Collective : std::uint8_t {
  sync,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  all,
  any,
  match_any,
  match_all,
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
};
/// Where a thread waits, or what it was at when it faulted: the barriers of a block, and what blocks of a
/// cluster have.
enum class Barrier : std::uint8_t { plain, count, all, any, cluster, mbarrier, transfer };

/// Block barrier. The result is the count, the conjunction or the disjunction of the predicates.
int block_barrier(Barrier kind, int predicate, const Site& site);
/// Warp collective over the lanes of `mask`. For shuffles, `argument` is the source lane, delta or lane mask.
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width,
                              const Site& site);
unsigned active_mask();

// What the blocks of a cluster have in common. PTX ISA: mapa, barrier.cluster, mbarrier, st.async,
// cp.async.bulk.

/// The same place in the shared memory of block `rank` of the cluster.
void* peer_shared(void* own, int rank, const Site& site);
/// The barrier of the cluster, in two halves. `release`: what this thread did before is visible to everybody
/// who has waited. Otherwise only mbarriers are that it started.
void cluster_arrive(bool release, const Site& site);
void cluster_wait(const Site& site);

/// Bytes on their way into shared memory. `move` copies them; it is code of the kernel, so that its accesses
/// are seen by whatever watches the kernel.
struct Transfer {
  void* to;
  const void* from;
  std::uint64_t value;
  std::size_t bytes;
  void (*move)(const Transfer&);
};
/// An mbarrier is known by the address of its word. A phase ends when `arrivals` threads have said how many
/// bytes they expect, and so many have arrived.
void mbarrier_start(void* word, int arrivals, const Site& site);
void mbarrier_expect(void* word, int bytes, const Site& site);
void mbarrier_wait(void* word, unsigned parity, const Site& site);
/// Starts a transfer into the block that the mbarrier belongs to.
void transfer(const Transfer& t, void* word, const Site& site);

/// Shared memory of the running block. `tag` identifies the array, which is poisoned when the block first
/// names it.
void* static_shared(const void* tag, std::size_t bytes, std::size_t align);
void* dynamic_shared();

/// Fills memory that nobody has written. Its 4-byte words are in turn a NaN and a large value, which is about
/// 2^100 in f32 and bf16 and 11144 in f16. A maximum drops a NaN, and a sum hides what lies below its
/// rounding, but no kernel that reads both words can miss both. An odd `turn` begins with the other word.
void poison(void* p, std::size_t bytes, unsigned turn = 0);

}  // namespace assay::executor
