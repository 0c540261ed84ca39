// SPDX-License-Identifier: Apache-2.0
// A bound as that of groups_bound, in steps, so that no warp waits for another: begin(), a barrier, find(),
// other work, a barrier, settle(). After the next barrier bound() gives it again. All threads must call the
// first three.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"
#include "kernels/building_blocks/onepass_topk/bound.cuh"

namespace assay::ASSAY_BACKEND::onepass {

// Which elements of an access reach a floor. 16-bit elements are compared in pairs, and a mask is made of the
// comparisons without a predicate each: fewer than half the instructions of one float after the other.

/// For one `floor`. NaN, as a floor or as an element, is never reached and reaches nothing.
template <class T>
struct Reach {
  static constexpr int N = kPerAccess<T>;

#if defined(__CUDA_ARCH__)
  static constexpr bool kPairs = sizeof(T) == 2;
  using Floor = std::conditional_t<kPairs, unsigned, float>;
  Floor floor;  // of 16 bits: the smallest number of T that reaches it, twice

  __device__ __forceinline__ explicit Reach(float f) {
    if constexpr (std::is_same_v<T, f16>)
      floor = words(__half2half2(__float2half_ru(f)));
    else if constexpr (std::is_same_v<T, bf16>)
      floor = words(__bfloat162bfloat162(__float2bfloat16_ru(f)));
    else
      floor = f;
  }
  /// Bit j: element j reaches the floor.
  __device__ __forceinline__ unsigned each(const Access<T>& a) const {
    unsigned mask = 0;
    if constexpr (kPairs) {
#pragma unroll
      for (int j = 0; j < N / 2; ++j) mask |= reached(a.w[j]) & 0x20001u << 2 * j;
      return (mask | mask >> 16) & ((1u << N) - 1);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) mask |= reached(a.e[j]) & 1u << j;
      return mask;
    }
  }
  /// Bit i: an element of part[i] does.
  template <int kCount>
  __device__ __forceinline__ unsigned any_of_each(const Access<T> (&part)[kCount]) const {
    static_assert(kCount <= 16);
    unsigned mask = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kPairs) {
        typename PairOf<T>::type p[N / 2];
        memcpy(p, &part[i], 16);
        mask |= reached(words(__hmax2(__hmax2(p[0], p[1]), __hmax2(p[2], p[3])))) & 0x10001u << i;
      } else {
        const Access<T>& a = part[i];
        mask |= reached(fmaxf(fmaxf(a.e[0], a.e[1]), fmaxf(a.e[2], a.e[3]))) & 1u << i;
      }
    }
    return kPairs ? (mask | mask >> 16) & ((1u << kCount) - 1) : mask;
  }

 private:
  template <class Pair>
  __device__ __forceinline__ static unsigned words(Pair p) {
    unsigned w;
    memcpy(&w, &p, sizeof w);
    return w;
  }
  /// All bits of a number that reaches the floor.
  __device__ __forceinline__ unsigned reached(Floor x) const {
    if constexpr (kPairs) {
      typename PairOf<T>::type a, b;
      memcpy(&a, &x, sizeof a);
      memcpy(&b, &floor, sizeof b);
      return __hge2_mask(a, b);
    } else {
      unsigned all;
      asm("set.ge.u32.f32 %0, %1, %2;" : "=r"(all) : "f"(x), "f"(floor));
      return all;
    }
  }
#else
  float floor;

  __host__ __device__ explicit Reach(float f) : floor(f) {}
  __host__ __device__ unsigned each(const Access<T>& a) const {
    const auto c = as_floats(a);
    unsigned mask = 0;
    for (int j = 0; j < N; ++j) mask |= c.x[j] >= floor ? 1u << j : 0u;
    return mask;
  }
  template <int kCount>
  __host__ __device__ unsigned any_of_each(const Access<T> (&part)[kCount]) const {
    unsigned mask = 0;
    for (int i = 0; i < kCount; ++i) mask |= each(part[i]) ? 1u << i : 0u;
    return mask;
  }
#endif
};

/// For k up to kFew: groups of one maximum of each thread. All threads count, each for one group, how many
/// groups are as large.
template <int kThreads>
struct FewBound {
  static_assert(kThreads >= 2 * kFew);
  alignas(16) unsigned ranks[2 * kFew];
  unsigned warps[kThreads / 32];

  template <class T>
  __device__ __forceinline__ void begin(float2 largest, int k) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    with_groups(k, [&](auto groups) {
      constexpr int kOfWarp = 32 * decltype(groups)::value / kThreads;
      const float most = largest_of_lanes(largest.x, kOfWarp);
      if (lane < kOfWarp) ranks[warp * kOfWarp + lane] = unsigned_rank(most) >> kUnrankedBits<T>;
    });
  }
  template <class T>
  __device__ __forceinline__ void find(int k) {
    const int thread = static_cast<int>(threadIdx.x);
    unsigned least = 0;
    with_groups(k, [&](auto groups) {
      constexpr int kGroups = decltype(groups)::value, kShare = kThreads / kGroups;
      const unsigned own = ranks[thread / kShare];
      int as_large = kGroups / kShare;
#pragma unroll
      for (int i = 0; i < kGroups; i += 4 * kShare)
        uncount_below(as_large, reinterpret_cast<const uint4*>(ranks)[i / 4 + thread % kShare], own);
#pragma unroll
      for (int step = 1; step < kShare; step *= 2) as_large += __shfl_xor_sync(kAllLanes, as_large, step);
      least = __reduce_max_sync(kAllLanes, as_large >= k ? own : 0u);
    });
    if (thread % 32 == 0) warps[thread / 32] = least;
  }
  template <class T>
  __device__ __forceinline__ float settle(int) {
    return bound<T>();
  }
  template <class T>
  __device__ __forceinline__ float bound() const {
    unsigned least = 0;
#pragma unroll
    for (const unsigned of_warp : warps) least = max(least, of_warp);
    return bound_of<T>(least);
  }

 private:
  /// Calls f with the number of groups. More groups than these would be compared for little.
  template <class F>
  __device__ __forceinline__ static void with_groups(int k, F f) {
    if (k <= kFewest)
      f(std::integral_constant<int, 32>{});
    else if (k <= kLeastK)
      f(std::integral_constant<int, 64>{});
    else
      f(std::integral_constant<int, 2 * kFew>{});
  }
};

/// For larger k: two maxima of each thread, counted in bins of equal width between the smallest and the
/// largest of them. The bound is the lower end of the bin in which the k-th largest lies. Where too many lie
/// in that bin, because a few maxima are far from the rest, the first warp looks for it by bisection.
template <int kThreads>
struct ManyBound {
  static constexpr int kRanks = 2 * kThreads, kBits = 8, kBins = 1 << kBits, kWarps = kThreads / 32;
  static constexpr int kOfLane = kBins / 32;
  static_assert(kThreads >= kBins && kOfLane == 8);
  alignas(16) unsigned ranks[kRanks];
  alignas(16) unsigned counts[kBins];  // the largest first
  unsigned lows[kWarps], highs[kWarps];
  unsigned found;

  template <class T>
  __device__ __forceinline__ void begin(float2 largest, int) {
    const int thread = static_cast<int>(threadIdx.x);
    const unsigned a = unsigned_rank(largest.x) >> kUnrankedBits<T>,
                   b = unsigned_rank(largest.y) >> kUnrankedBits<T>;
    ranks[thread] = a;
    ranks[thread + kThreads] = b;
    if (thread < kBins) counts[thread] = 0;
    const unsigned low = __reduce_min_sync(kAllLanes, min(or_none<T>(a), or_none<T>(b))),
                   high = __reduce_max_sync(kAllLanes, max(a, b));
    if (thread % 32 == 0) {
      lows[thread / 32] = low;
      highs[thread / 32] = high;
    }
  }
  template <class T>
  __device__ __forceinline__ void find(int) {
    const Bins bins(*this);
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < kRanks; i += kThreads) {
      const unsigned rank = ranks[thread + i];
      if (or_none<T>(rank) == rank) atomicAdd(&counts[bins.of(rank)], 1u);
    }
  }
  template <class T>
  __device__ __forceinline__ float settle(int k) {
    if (threadIdx.x < 32) {
      const unsigned rank = kth(k);
      if (threadIdx.x == 0) found = rank;
    }
    __syncthreads();  // it is there
    return bound<T>();
  }
  template <class T>
  __device__ __forceinline__ float bound() const {
    return bound_of<T>(found);
  }

 private:
  /// The rank of a number; the largest rank there is for -inf and NaN.
  template <class T>
  __device__ __forceinline__ static unsigned or_none(unsigned rank) {
    return rank > unsigned_rank(negative_infinity()) >> kUnrankedBits<T> ? rank : ~0u;
  }
  /// The bins of a histogram. All lanes must make them.
  struct Bins {
    unsigned low, high;
    int shift;
    __device__ __forceinline__ explicit Bins(const ManyBound& b) {
      const int warp = static_cast<int>(threadIdx.x) % kWarps;
      low = __reduce_min_sync(kAllLanes, b.lows[warp]);
      high = __reduce_max_sync(kAllLanes, b.highs[warp]);
      const int bits = high > low ? 32 - __clz(static_cast<int>(high - low)) : 0;
      shift = bits > kBits ? bits - kBits : 0;
    }
    __device__ __forceinline__ int of(unsigned rank) const {
      return kBins - 1 - static_cast<int>((rank - low) >> shift);
    }
    __device__ __forceinline__ unsigned lowest(int bin) const {
      return low + (static_cast<unsigned>(kBins - 1 - bin) << shift);
    }
  };
  /// The bound's rank; 0 if there are fewer numbers than k. One warp.
  __device__ __forceinline__ unsigned kth(int k) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned own[kOfLane];
    memcpy(own, counts + lane * kOfLane, sizeof own);
    int sum = 0;
#pragma unroll
    for (const unsigned count : own) sum += static_cast<int>(count);
    int up_to = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, up_to, static_cast<unsigned>(step));
      if (lane >= step) up_to += other;
    }
    const unsigned reached = __ballot_sync(kAllLanes, up_to >= k);
    if (!reached) return 0;
    int bin = kOfLane * lane - 1, reach = up_to - sum;
#pragma unroll
    for (const unsigned count : own)
      if (reach < k) {
        reach += static_cast<int>(count);
        ++bin;
      }
    const int of = __ffs(static_cast<int>(reached)) - 1;
    bin = __shfl_sync(kAllLanes, bin, of);
    reach = __shfl_sync(kAllLanes, reach, of);
    const Bins bins(*this);
    return reach <= k + k / 8 + 1 || bins.shift == 0 ? bins.lowest(bin) : reached_of_many(bins, k);
  }
  /// bisect() of all ranks, which stay in shared memory: registers hold a tile.
  __device__ __forceinline__ unsigned reached_of_many(const Bins& bins, int k) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return bisect(bins.low, bins.high, k, k / 8, [&](unsigned rank) {
      unsigned count = 0;
#pragma unroll 4
      for (int i = lane; i < kRanks; i += 32) count += ranks[i] >= rank;
      return static_cast<int>(__reduce_add_sync(kAllLanes, count));
    });
  }
};

}  // namespace assay::ASSAY_BACKEND::onepass
