// SPDX-License-Identifier: Apache-2.0
// Which elements of an access reach a floor. 16-bit elements are compared in pairs, and a mask is made of the
// comparisons without a predicate each: fewer than half the instructions of one float after the other.
#pragma once

#include "kernels/building_blocks/onepass/held.cuh"

namespace assay::ASSAY_BACKEND::onepass {

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

}  // namespace assay::ASSAY_BACKEND::onepass
