// SPDX-License-Identifier: Apache-2.0
// Rows of f32 in packs of 16 bytes. Element i always belongs to pack i / 4. A pack is one vector access if
// the row's address allows it, otherwise four scalar accesses, so the bits of a row depend on the row alone.
#pragma once

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// A float4 that can be indexed.
using Pack = Access<float>;
inline constexpr int kPack = kPerAccess<float>;

/// True if packs of the row may be accessed as vectors. A null pointer counts as aligned.
__device__ __forceinline__ bool pack_aligned(const float* row) {
  return reinterpret_cast<std::uintptr_t>(row) % sizeof(Pack) == 0;
}

/// Elements at[0 .. 3]. All four must lie inside the row.
__device__ __forceinline__ Pack load_pack(const float* at, bool aligned) {
  if (aligned) return *reinterpret_cast<const Pack*>(at);
  return {{at[0], at[1], at[2], at[3]}};
}
__device__ __forceinline__ void store_pack(float* at, Pack p, bool aligned) {
  if (aligned) {
    *reinterpret_cast<Pack*>(at) = p;
  } else {
    for (int c = 0; c < kPack; ++c) at[c] = p.e[c];
  }
}

/// Number of elements that a thread adds one after another, if packs are distributed over `threads` threads
/// and the last V % 4 elements one by one.
constexpr std::int64_t pack_turns(std::int64_t V, int threads) {
  return ceil_div(V / kPack, threads) * kPack + (V % kPack ? 1 : 0);
}

}  // namespace assay::ASSAY_BACKEND
