// SPDX-License-Identifier: Apache-2.0
// The blocks that share a row. Their warps exchange (m, d) in one step, after which every warp has the row's
// value. Here: the merge that all teams share, and the team of one block. Below: a cluster, and all blocks of
// the GPU.
#pragma once

#include "kernels/building_blocks/onepass/barrier.cuh"
#include "kernels/building_blocks/onepass/held.cuh"

#if defined(__CUDACC__)
#include <map>
#include <mutex>
#include <utility>
#endif

namespace assay::ASSAY_BACKEND::onepass {

// The slice of a row that a block of a team (team.cuh) works on, and the element of the row's edges that a
// thread works on.

/// Number of accesses of a slice: of equal parts, each whole sectors. So every slice begins at a
/// sector if the body of the row does.
template <class Index>
__host__ __device__ constexpr Index slice_of(Index accesses, int blocks) {
  return blocks == 1 ? accesses : ((accesses + blocks - 1) / blocks + 1) / 2 * 2;
}

/// Counted in accesses. Index has 64 bits only where a slice may have 2^31 or more.
template <class T, class Index>
struct Slice {
  Index first, count;
  const Access<T>* from;

  __device__ __forceinline__ Slice(const T* x, const Parts<T>& parts, int rank, int blocks) {
    const auto accesses = static_cast<Index>(parts.accesses);
    const Index whole = slice_of(accesses, blocks);
    first = rank * whole;
    const Index left = accesses - first;
    count = left < 0 ? 0 : left < whole ? left : whole;
    from = reinterpret_cast<const Access<T>*>(x + parts.head) + first;
  }
  /// Where its outputs go.
  __device__ __forceinline__ T* to(T* p, const Parts<T>& parts) const {
    return p + parts.head + static_cast<std::int64_t>(first) * kPerAccess<T>;
  }
};

/// The edges of a row belong to the first warp of the first block. A thread without an element has -inf.
template <class T>
struct Edge {
  std::int64_t at;
  float x;

  __device__ __forceinline__ Edge(const T* row, const Parts<T>& parts, int rank, int thread)
      : at(rank == 0 ? parts.edge(thread) : -1), x(at >= 0 ? to_float(row[at]) : negative_infinity()) {}

  /// What it adds to the sum of its thread.
  template <class E>
  __device__ __forceinline__ float term(float shift, int thread) const {
    return thread < 32 ? E::of(x - shift) : 0.0f;
  }
  template <class F>
  __device__ __forceinline__ void store(T* p, F outputs) const {
    if (at < 0) return;
    Chunk<1> c = single(x);
    outputs(c);
    p[at] = from_float<T>(c.x[0]);
  }
};

inline constexpr int kMostWarps = 32;

/// The merge of `count` values by one warp, `lane` being the caller's.
template <class E>
__device__ __forceinline__ Normalizer merge_all(const Normalizer* values, int count, int lane) {
  // Folded, so that a value of only -inf and NaN is not taken for the identity.
  Normalizer n = lane < count ? folded(values[lane]) : identity();
  for (int i = lane + 32; i < count; i += 32) n = combine<E>(n, folded(values[i]));
  return merge_lanes<E>(n);
}

/// One block per row.
struct Alone {
  static constexpr int kBlocks = 1;
  struct Where {};
  struct Shared {
    Normalizer values[kMostWarps];
  };
  int rank = 0, blocks = 1;
  std::int64_t row;
  Shared& shared;
  __device__ __forceinline__ Alone(Where, Shared& s) : row(blockIdx.x), shared(s) {}

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own) const {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    if (lane == 0) shared.values[threadIdx.x / 32] = own;
    __syncthreads();  // every warp's value is there
    return merge_all<E>(shared.values, warps, lane);
  }
  __device__ __forceinline__ void end() const {}
};

// Rung 4: a cluster of 2 to 16 blocks holds a row. Every warp sends its (m, d) to every block of the cluster,
// and each block waits for its own copy of all of them. Nobody waits at a barrier of the cluster: on an H200,
// V = 131,072 in f32, such a barrier cost 9 % of the copy speed. It orders all memory accesses of a block;
// an mbarrier counts the bytes that were sent, and nothing else.

/// Most blocks of a cluster. A GPU promises 8; 16 must be allowed for each kernel.
inline constexpr int kMostBlocks = 16;

/// A cluster of `blocks` blocks per row. Compute capability 9.0.
struct Cluster {
  static constexpr int kBlocks = kMostBlocks;
  struct Where {
    int blocks;
  };
  struct Shared {
    Barrier arrived;
    Normalizer values[kMostBlocks * kMostWarps];
  };
  int rank, blocks;
  std::int64_t row;
  Shared& shared;

  __device__ __forceinline__ Cluster(Where w, Shared& s)
      : rank(static_cast<int>(blockIdx.x) % w.blocks),
        blocks(w.blocks),
        row(blockIdx.x / w.blocks),
        shared(s) {
    if (threadIdx.x == 0) {
      shared.arrived.start();
      shared.arrived.expect(blocks * static_cast<int>(blockDim.x / 32 * sizeof(Normalizer)));
    }
    cluster_arrive();  // waited for in merge
  }

  /// A block may end when it has got all values: nobody sends it anything after that.
  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __trap();  // never launched: gpu_for refuses code for older GPUs
    return own;
#else
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    cluster_wait();  // every barrier has been started
    if (lane < blocks) {
      std::uint64_t bits;
      memcpy(&bits, &own, sizeof bits);
      send(peer_address(shared_address(shared.values + rank * warps + threadIdx.x / 32), lane), bits,
           peer_address(shared.arrived.address(), lane));
    }
    shared.arrived.wait(0);
    return merge_all<E>(shared.values, blocks * warps, lane);
#endif
  }
  __device__ __forceinline__ void end() const {}
};

// Rung 6, few rows: all blocks of the GPU share them, each row has a team of blocks that may lie anywhere.
// They meet in global memory: each block writes the (m, d) of its slice into its slot, and reads the slots of
// its team. A slot is two words of 8 bytes, and each word carries the number of the launch. So a block knows
// when a value has arrived, and nothing has to be cleared or counted between two launches. All blocks of a
// launch must be on the GPU at the same time: the launch is cooperative.

/// Most blocks of a row.
inline constexpr int kMostTeam = 256;
/// Most rows of a launch.
inline constexpr int kMostTeams = 64;

#if defined(__CUDACC__)
struct alignas(16) Slot {
  std::uint64_t m, d;  // the value's bits, and above them the number of the launch
};
/// Where the blocks of a launch meet. Only one launch at a time may use it.
struct MeetingPlace {
  Slot slots[kMostTeams][kMostTeam];
  unsigned launches[kMostTeams];
};

__device__ __forceinline__ std::uint64_t tagged(float value, unsigned launch) {
  return std::uint64_t{launch} << 32 | __float_as_uint(value);
}
/// The two words may arrive one after the other, so each has its number.
__device__ __forceinline__ void put(Slot* at, Normalizer n, unsigned launch) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(tagged(n.m, launch)),
               "l"(tagged(n.d, launch))
               : "memory");
}
/// Waits until both words are of this launch.
__device__ __forceinline__ Normalizer get(const Slot* at, unsigned launch) {
  Slot s;
  do {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(s.m), "=l"(s.d) : "l"(at) : "memory");
  } while (static_cast<unsigned>(s.m >> 32) != launch || static_cast<unsigned>(s.d >> 32) != launch);
  return {__uint_as_float(static_cast<unsigned>(s.m)), __uint_as_float(static_cast<unsigned>(s.d))};
}

struct Grid {
  static constexpr int kBlocks = kMostTeam;
  struct Where {
    int blocks;
    MeetingPlace* place;
  };
  struct Shared {
    Normalizer values[kMostWarps], team[kMostWarps];
    unsigned launch;  // number of this launch
  };
  int rank, blocks;
  std::int64_t row;
  Slot* slots;
  unsigned* launches;
  Shared& shared;

  __device__ __forceinline__ Grid(Where w, Shared& s)
      : rank(static_cast<int>(blockIdx.x) % w.blocks),
        blocks(w.blocks),
        row(blockIdx.x / w.blocks),
        slots(w.place->slots[row]),
        launches(w.place->launches + row),
        shared(s) {
    if (threadIdx.x == 0) {
      const unsigned last = *const_cast<volatile unsigned*>(launches);
      shared.launch = last + 1 == 0 ? 1 : last + 1;  // a slot that nobody used has 0
    }
  }

  template <class E>
  __device__ __forceinline__ Normalizer merge(Normalizer own) {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    own = merge_lanes<E>(own);
    if (lane == 0) shared.values[threadIdx.x / 32] = own;
    __syncthreads();
    const unsigned launch = shared.launch;
    if (threadIdx.x < 32) {
      const Normalizer n = merge_all<E>(shared.values, warps, lane);
      if (lane == 0) put(slots + rank, n, launch);
    }
    // A slot for each thread, so that all are read at the same time.
    Normalizer all = identity();
    for (int i = static_cast<int>(threadIdx.x); i < blocks; i += static_cast<int>(blockDim.x))
      all = combine<E>(all, folded(get(slots + i, launch)));
    all = merge_lanes<E>(all);
    if (lane == 0) shared.team[threadIdx.x / 32] = all;
    __syncthreads();
    return merge_all<E>(shared.team, warps, lane);
  }

  /// The number that a block writes into its slot comes from `launches`, so all have read it before anybody
  /// has all values. Slots that this launch did not use are cleared, so that no number is ever found that is
  /// 2^32 launches old.
  __device__ __forceinline__ void end() const {
    if (rank != 0 || threadIdx.x >= 32) return;
    if (threadIdx.x == 0) *launches = shared.launch;
    for (int i = blocks + static_cast<int>(threadIdx.x); i < kMostTeam; i += 32) slots[i] = {0, 0};
  }
};

/// The meeting place of a stream, made and cleared at its first launch; launches in one stream never overlap.
/// Null in a captured launch, because two copies of a graph may run at the same time, and where there is no
/// memory.
inline MeetingPlace* meeting_place(void* handle) {
  const auto stream = static_cast<cudaStream_t>(handle);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  int device = 0;
  if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone ||
      cudaStreamGetId(stream, &id) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  static std::mutex one_at_a_time;
  static std::map<std::pair<int, unsigned long long>, MeetingPlace*> places;
  const std::lock_guard lock(one_at_a_time);
  MeetingPlace*& place = places[{device, id}];
  if (place) return place;
  void* memory = nullptr;
  if (cudaMalloc(&memory, sizeof(MeetingPlace)) != cudaSuccess ||
      cudaMemsetAsync(memory, 0, sizeof(MeetingPlace), stream) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return place = static_cast<MeetingPlace*>(memory);
}
#endif

}  // namespace assay::ASSAY_BACKEND::onepass
