// SPDX-License-Identifier: Apache-2.0
// Rung 6, few rows: all blocks of the GPU share them, each row has a team of blocks that may lie anywhere.
// They meet in global memory: each block writes the (m, d) of its slice into its slot, and reads the slots of
// its team. A slot is two words of 8 bytes, and each word carries the number of the launch. So a block knows
// when a value has arrived, and nothing has to be cleared or counted between two launches. All blocks of a
// launch must be on the GPU at the same time: the launch is cooperative.
#pragma once

#if defined(__CUDACC__)
#include <map>
#include <mutex>
#include <utility>
#endif

#include "kernels/building_blocks/onepass/team.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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
