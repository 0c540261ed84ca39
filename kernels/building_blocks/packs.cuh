// Rows of f32 in packs of 16 bytes. Element i belongs to pack i / 4 wherever the row lies: one vector access
// where the row's address allows it, four scalar ones where it does not, so that a row's bits depend on the
// row alone.
#pragma once

#include "kernels/building_blocks/row_walk.cuh"

namespace assay::ASSAY_BACKEND {

/// A float4, addressed by index.
using Pack = Access<float>;
inline constexpr int kPack = kPerAccess<float>;

/// Whether packs of a row may be accessed whole. Null is aligned.
__device__ __forceinline__ bool pack_aligned(const float* row) {
  return reinterpret_cast<std::uintptr_t>(row) % sizeof(Pack) == 0;
}

/// Elements at ... at + 3, all of them inside the row.
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

/// Elements a thread adds in turn when packs are dealt to `threads` and the last V % 4 elements one by one.
constexpr std::int64_t pack_turns(std::int64_t V, int threads) {
  return ceil_div(V / kPack, threads) * kPack + (V % kPack ? 1 : 0);
}

}  // namespace assay::ASSAY_BACKEND
