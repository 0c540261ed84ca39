// SPDX-License-Identifier: Apache-2.0
// Accesses of a row that starts at no multiple of 16 bytes, for kernels whose order of the sum may not depend
// on where a row lies. Access i is elements iN .. iN + N - 1 of the row there, as it is in an aligned row.
// The accesses of a warp are neighbours. Between them lie aligned accesses, one fewer: each lane moves one
// and exchanges with its neighbour what belongs to that. The two ends are moved element by element. So a
// warp touches its own elements and no others.
#pragma once

#include "kernels/building_blocks/reduce.cuh"
#include "kernels/building_blocks/row_write.cuh"

namespace assay::ASSAY_BACKEND::onepass {

/// Number of elements between p and the multiple of 16 bytes before it.
template <class T>
__device__ __forceinline__ int past_access(const T* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16 / sizeof(T));
}

/// The 16 bytes that follow the first `from` elements of `low` and then `high`. 0 < from < kPerAccess.
template <class T>
__device__ __forceinline__ Access<T> joined(const Access<T>& low, const Access<T>& high, int from) {
  std::uint32_t w[8];
  memcpy(w, &low, 16);
  memcpy(w + 4, &high, 16);
  const int bytes = from * static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = bytes & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = bytes & 4 ? w[i + 1] : w[i];
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = bytes & 2 ? w[i] >> 16 | w[i + 1] << 16 : w[i];
  }
  Access<T> a;
  memcpy(&a, w, 16);
  return a;
}

/// f of each half of an access.
template <class T, class F>
__device__ __forceinline__ Access<T> of_halves(const Access<T>& a, F f) {
  unsigned long long half[2];
  memcpy(half, &a, 16);
  half[0] = f(half[0]);
  half[1] = f(half[1]);
  Access<T> b;
  memcpy(&b, half, 16);
  return b;
}

/// Lane l of a warp gets access l from `first` on, or -inf if l is not below `count`. All lanes call it.
template <class T>
__device__ __forceinline__ Access<T> load_misaligned(const T* first, int count, int lane) {
  constexpr int N = kPerAccess<T>;
  const int past = past_access(first);
  const T* const mine = first + lane * N;
  Access<T> own = no_access<T>();
  if (lane > 0 && lane < count) own = load_last(reinterpret_cast<const Access<T>*>(mine - past));
  const Access<T> next =
      of_halves(own, [](unsigned long long h) { return __shfl_down_sync(kAllLanes, h, 1); });
  if (lane >= count) return no_access<T>();
  if (lane > 0 && lane < 31 && lane + 1 < count) return joined(own, next, past);
  T e[N];
#pragma unroll
  for (int j = 0; j < N; ++j) e[j] = mine[j];
  memcpy(&own, e, 16);
  return own;
}

/// Lane l of a warp stores access l from `first` on, if l is below `count`. All lanes call it.
template <class T>
__device__ __forceinline__ void store_misaligned(T* first, int count, const Access<T>& own, int lane) {
  constexpr int N = kPerAccess<T>;
  const int past = past_access(first), last = count < 32 ? count - 1 : 31;
  T* const mine = first + lane * N;
  const Access<T> before =
      of_halves(own, [](unsigned long long h) { return __shfl_up_sync(kAllLanes, h, 1); });
  __syncwarp();  // in place, a lane overwrites what its neighbours have loaded
  if (lane > last) return;
  if (lane > 0) store_last(reinterpret_cast<Access<T>*>(mine - past), joined(before, own, N - past));
  T e[N];
  memcpy(e, &own, 16);
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (j < N - past ? lane == 0 : lane == last) mine[j] = e[j];
}

}  // namespace assay::ASSAY_BACKEND::onepass
