// The host executor runs a CUDA kernel's source on the CPU, with one fiber per CUDA thread. It is a test
// instrument:
// - Barriers and shuffles meet by mask. A divergent or missing arrival is an error that names every thread's
//   source line.
// - Shared memory is poisoned for every block.
// - A seed decides the order in which threads, warps and blocks run.
//
// What it cannot show: the host libm's expf is not the device's. There is no weak memory model, no
// asynchronous copy, no mma, no cluster and no cooperative grid. A record made here never stands in for one
// made on a GPU. Under ThreadSanitizer, atomics order memory; on a GPU that takes a fence. So a missing
// __threadfence is not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

#include "kernels/host/fault_kind.hpp"

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
};

/// The largest launch that the executor accepts: the limits of an H200.
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr std::size_t kMaxShared = 232448;
inline constexpr std::size_t kMaxStaticShared = 49152;

/// How launches of this OS thread are scheduled.
struct Schedule {
  std::uint64_t seed = 0;  // 0: threads, warps and blocks in index order; else a permutation of each
};
void set_schedule(const Schedule& schedule);

/// A hash of the launches of this OS thread since set_schedule. From each launch it takes the block, the
/// shared memory, and the size of the grid rounded to a power of two. So a search learns that a launcher took
/// another path. 0 before the first launch.
std::uint64_t dispatch();

/// Runs `body` once for every thread of the grid. Throws Fault; a faulted launch has run partially.
void run(Dim3 grid, Dim3 block, std::size_t dynamic_shared, void (*body)(const void*), const void* argument);

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
enum class Barrier : std::uint8_t { plain, count, all, any };

/// Block barrier. The result is the count, the conjunction or the disjunction of the predicates.
int block_barrier(Barrier kind, int predicate, const Site& site);
/// Warp collective over the lanes of `mask`. For shuffles, `argument` is the source lane, delta or lane mask.
std::uint64_t warp_collective(Collective kind, unsigned mask, std::uint64_t value, int argument, int width,
                              const Site& site);
unsigned active_mask();

/// Shared memory of the running block. `tag` identifies the array, which is poisoned when the block first
/// names it.
void* static_shared(const void* tag, std::size_t bytes, std::size_t align);
void* dynamic_shared();

/// Fills memory that nobody has written. Its 4-byte words are in turn a NaN and a large value, which is about
/// 2^100 in f32 and bf16 and 11144 in f16. A maximum drops a NaN, and a sum hides what lies below its
/// rounding, but no kernel that reads both words can miss both. An odd `turn` begins with the other word.
void poison(void* p, std::size_t bytes, unsigned turn = 0);

}  // namespace assay::executor
