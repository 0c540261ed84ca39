// SPDX-License-Identifier: Apache-2.0
// A row whose columns are split over several GPUs, as the vocabulary of a tensor-parallel model is. Two
// kernels, and between them the GPUs tell each other their (m, d):
//   split_sums      reads this GPU's slice of each row and leaves one (m, d) per block;
//   split_outputs   merges the (m, d) of all blocks of all GPUs, reads the slice again and writes the
//   outputs.
// The second read is served by the L2 if few rows are between the two kernels at a time. The values are
// merged by every warp in the same order, so every GPU finds the same bits for a row.
#pragma once

#include "kernels/building_blocks/onepass/team.cuh"
#include "kernels/split/split.hpp"

namespace assay::ASSAY_BACKEND::onepass {

inline constexpr int kSplitThreads = 256;
/// Accesses of a thread.
inline constexpr int kSplitCount = 8;
/// Blocks that a multiprocessor holds. It limits a thread to 64 registers, half of them for the slice.
inline constexpr int kSplitBlocks = 4;

/// Blocks that share a slice of so many columns.
template <class T>
constexpr int split_blocks(std::int64_t columns) {
  const std::int64_t blocks = ceil_div(columns / kPerAccess<T>, kSplitThreads * kSplitCount);
  return blocks > 1 ? static_cast<int>(blocks) : 1;
}

/// What the L2 is to do with what is loaded.
enum class Keep { normal, last, first };

#if defined(__CUDACC__)
__device__ __forceinline__ std::uint64_t cache_policy(Keep keep) {
  std::uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  if (keep == Keep::last) asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  if (keep == Keep::first) asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  if (keep == Keep::normal) asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
#endif

template <class T>
struct LoadBy {
#if defined(__CUDACC__)
  std::uint64_t policy;
  __device__ __forceinline__ explicit LoadBy(Keep keep) : policy(cache_policy(keep)) {}
  __device__ __forceinline__ Access<T> operator()(const Access<T>* p) const {
    uint4 v = {0, 0, 0, 0};
#if __CUDA_ARCH__ >= 800
    asm("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "l"(policy));
#else
    v = *reinterpret_cast<const uint4*>(p);
#endif
    Access<T> a;
    memcpy(&a, &v, 16);
    return a;
  }
#else
  explicit LoadBy(Keep) {}
  Access<T> operator()(const Access<T>* p) const { return *p; }
#endif
};

template <class T>
__device__ __forceinline__ void load_slice(Held<T, kSplitCount>& held, const Slice<T, std::int64_t>& slice,
                                           int thread, Keep keep) {
  const LoadBy<T> load(keep);
  const auto end = static_cast<int>(slice.count);
#pragma unroll
  for (int i = 0; i < kSplitCount; ++i) {
    const int at = thread + i * kSplitThreads;
    held.part[i] = no_access<T>();
    if (at < end) held.part[i] = load(slice.from + at);
  }
}

// How the GPUs tell each other: `put` leaves the value of a block of a row, `get` finds value i of a row,
// counted over all blocks of all GPUs.

/// The values are gathered between the two kernels: parts x rows x blocks, first those of GPU 0.
struct Gathered {
  Normalizer* all;
  int blocks, parts, own;
  std::int64_t rows;
  __device__ __forceinline__ std::int64_t place(int part, std::int64_t row, int block) const {
    return (part * rows + row) * blocks + block;
  }
  __device__ __forceinline__ void put(std::int64_t row, int block, Normalizer n) const {
    all[place(own, row, block)] = n;
  }
  __device__ __forceinline__ Normalizer get(std::int64_t row, int i) const {
    return all[place(i / blocks, row, i % blocks)];
  }
};

#if defined(__CUDACC__)
/// Every GPU writes its values into the memory of all. A value is two words of 8 bytes, each with the number
/// of the run, so a reader knows when it has arrived. Runs of odd and of even number have places of their
/// own: a GPU may be one run ahead of another, never two.
struct Peers {
  struct alignas(16) Slot {
    std::uint64_t m, d;
  };
  SplitPlaces places;
  const void* mine;        // that of `own`
  const unsigned* number;  // of this run
  int blocks, parts, own;
  std::int64_t first, all_rows;  // of the chunk, and of the run

  __device__ __forceinline__ std::int64_t place(unsigned run, int part, std::int64_t row, int block) const {
    return (((run & 1) * parts + part) * all_rows + first + row) * blocks + block;
  }
  __device__ __forceinline__ static std::uint64_t tagged(float value, unsigned run) {
    return std::uint64_t{run} << 32 | __float_as_uint(value);
  }
  __device__ __forceinline__ void put(std::int64_t row, int block, Normalizer n) const {
    const unsigned run = *number;
    const std::int64_t at = place(run, own, row, block);
    // An index that is not known to the compiler would need a copy of the addresses in local memory.
#pragma unroll
    for (int i = 0; i < kMostParts; ++i)
      if (i < parts)
        asm volatile(
            "st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(static_cast<Slot*>(places.of[i]) + at),
            "l"(tagged(n.m, run)), "l"(tagged(n.d, run))
            : "memory");
  }
  __device__ __forceinline__ Normalizer get(std::int64_t row, int i) const {
    const unsigned run = *number;
    const Slot* const at = static_cast<const Slot*>(mine) + place(run, i / blocks, row, i % blocks);
    Slot s;
    do {
      asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(s.m), "=l"(s.d)
                   : "l"(at)
                   : "memory");
    } while (static_cast<unsigned>(s.m >> 32) != run || static_cast<unsigned>(s.d >> 32) != run);
    return {__uint_as_float(static_cast<unsigned>(s.m)), __uint_as_float(static_cast<unsigned>(s.d))};
  }
};

/// Of the next run. No row of it has been drawn yet.
__global__ void next_number(unsigned* number, unsigned* drawn) {
  *number = *number + 1 == 0 ? 1 : *number + 1;
  *drawn = 0;
}
#endif

template <class Form, class T, class Meeting>
__global__ void __launch_bounds__(kSplitThreads, kSplitBlocks)
    split_sums(Rows<const T> logits, std::int64_t columns, bool keep, Meeting meeting) {
  using E = typename Form::Exp;
  constexpr int kWarps = kSplitThreads / 32;
  ASSAY_SHARED(Normalizer, values, kWarps);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const auto rank = static_cast<int>(blockIdx.x % static_cast<unsigned>(meeting.blocks));
  const std::int64_t row = blockIdx.x / static_cast<unsigned>(meeting.blocks);
  const T* const x = logits.row(row);
  const Parts<T> parts(x, columns);
  Held<T, kSplitCount> held;
  load_slice(held, Slice<T, std::int64_t>(x, parts, rank, meeting.blocks), thread,
             keep ? Keep::last : Keep::normal);
  const Edge<T> edge(x, parts, rank, thread);
  const float own = fmaxf(held.largest(), edge.x);
  const float shift = reference(own);
  held.forget();
  Normalizer n{own, held.template sum<E>(shift)};
  n.d += edge.template term<E>(shift, thread);
  n = merge_lanes<E>(n);
  if (lane == 0) values[thread / 32] = n;
  __syncthreads();  // every warp's value is there
  if (thread >= 32) return;
  n = merge_all<E>(values, kWarps, lane);
  if (lane == 0) meeting.put(row, rank, n);
}

template <class Form, class T, class Meeting>
__global__ void __launch_bounds__(kSplitThreads, kSplitBlocks)
    split_outputs(Rows<const T> logits, Rows<T> probs, std::int64_t columns, Meeting meeting) {
  using E = typename Form::Exp;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const auto rank = static_cast<int>(blockIdx.x % static_cast<unsigned>(meeting.blocks));
  const std::int64_t row = blockIdx.x / static_cast<unsigned>(meeting.blocks);
  const T* const x = logits.row(row);
  const Parts<T> parts(x, columns);
  const Slice<T, std::int64_t> slice(x, parts, rank, meeting.blocks);
  Held<T, kSplitCount> held;
  load_slice(held, slice, thread, Keep::first);
  const Edge<T> edge(x, parts, rank, thread);
  const int count = meeting.parts * meeting.blocks;
  // Folded, so that a value of only -inf and NaN is not taken for the identity.
  Normalizer n = lane < count ? folded(meeting.get(row, lane)) : identity();
  for (int i = lane + 32; i < count; i += 32) n = combine<E>(n, folded(meeting.get(row, i)));
  n = merge_lanes<E>(n);
  held.forget();

  T* const p = probs.row(row);
  T* const to = slice.to(p, parts);
  const Form form(n);
  const auto outputs = [&](auto& c) { form.template outputs<T>(c); };
  held.store(to, static_cast<int>(slice.count), thread, kSplitThreads,
             reinterpret_cast<std::uintptr_t>(to) % 16 == 0, outputs);
  edge.store(p, outputs);
}

/// Largest number of additions on a path from a term to the sum, for any number of GPUs up to kMostParts.
/// Adding the 0 of an element that is not there counts as none, so a row of V terms has fewer than V.
template <class T>
constexpr std::int64_t split_height(std::int64_t V) {
  constexpr std::int64_t N = kPerAccess<T>;
  const std::int64_t values = V / (N * kSplitThreads * kSplitCount) + 1 + kMostParts;
  // 15: a cluster's 512 warps (split_kernels.cu).
  const std::int64_t merges = ceil_div(values, 32) - 1,
                     most = kSplitCount * N + 1 + 5 + 5 + (merges > 15 ? merges : 15) + 5;
  return most < V ? most : V;
}

}  // namespace assay::ASSAY_BACKEND::onepass
