// SPDX-License-Identifier: Apache-2.0
// Asks the compiled kernels of a ladder what resident.hpp says of them.
#pragma once

#if defined(__CUDACC__)
#include <string_view>

#include "kernels/building_blocks/onepass/resident.hpp"
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND::onepass {

template <class... P>
std::optional<Resident> resident_of(void (*kernel)(P...), int threads, int room) {
#if __CUDACC_VER_MAJOR__ != 13 || __CUDACC_VER_MINOR__ != 0
  return {};
#else
  int device = 0, major = 0, minor = 0, blocks = 0;
  cudaFuncAttributes code{};
  const std::size_t bytes = static_cast<std::size_t>(room) * 16;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess ||
      major != 9 || minor != 0)
    return {};
  if (cudaFuncGetAttributes(&code, kernel) != cudaSuccess ||
      (room && cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostRoom * 16) !=
                   cudaSuccess) ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes) != cudaSuccess)
    return Resident{-1, -1};
  return Resident{code.numRegs, blocks};
#endif
}

template <class Form, class Team, class T>
std::optional<Resident> resident_team(const RungOfTable& r) {
  if (r.again) return resident_of(block_rung<Form, Team, T, 8, true>, r.threads, 0);
  if (r.count == 2) return resident_of(block_rung<Form, Team, T, 2, false>, r.threads, 0);
  if (r.count == 4) return resident_of(block_rung<Form, Team, T, 4, false>, r.threads, 0);
  return resident_of(block_rung<Form, Team, T, 8, false>, r.threads, 0);
}

template <class Form, class T>
std::optional<Resident> resident(const RungOfTable& r) {
  const std::string_view rung = r.rung;
  if (rung == "lanes") return resident_of(lanes_rung<Form, T, 2, 32, true>, r.threads, 0);
  if (rung == "warp") return resident_of(warp_rung<Form, T, 4>, r.threads, 0);
  if (rung == "block") return resident_team<Form, Alone, T>(r);
  if (rung == "cluster") return resident_team<Form, Cluster, T>(r);
  if (rung == "boxed") return resident_of(boxed_rung<Form, Cluster, T, 8>, r.threads, r.room);
  if (rung != "grid") return Resident{-1, -1};
  if (r.count == 2) return resident_of(block_rung<Form, Grid, T, 2, false>, r.threads, 0);
  if (r.count == 4) return resident_of(block_rung<Form, Grid, T, 4, false>, r.threads, 0);
  return resident_of(block_rung<Form, Grid, T, 8, false>, r.threads, 0);
}

template <class Form>
std::optional<Resident> resident_for(const RungOfTable& r, Dtype dtype) {
  return dtype == Dtype::f32   ? resident<Form, f32>(r)
         : dtype == Dtype::f16 ? resident<Form, f16>(r)
                               : resident<Form, bf16>(r);
}

}  // namespace assay::ASSAY_BACKEND::onepass
#endif
