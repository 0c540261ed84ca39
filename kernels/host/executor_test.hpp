// SPDX-License-Identifier: Apache-2.0
// For tests of the host executor: CUDA's words in a namespace of their own, a launch of any callable, and the
// text of a launch's fault.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#define ASSAY_BACKEND host_test
#include "kernels/host/cuda_core.hpp"

namespace assay::host_test {

#if defined(__SANITIZE_THREAD__)
// In this build, making a fiber takes about a millisecond, and each switch about fifty times as long as
// usual.
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

/// kernel<<<grid, block, shared>>>(). The captures of the kernel are its arguments.
template <class Kernel>
void launch(dim3 grid, dim3 block, std::size_t shared, const Kernel& kernel) {
  executor::run(
      grid, block, shared, [](const void* k) { (*static_cast<const Kernel*>(k))(); }, &kernel);
}
template <class Kernel>
void launch(dim3 grid, dim3 block, const Kernel& kernel) {
  launch(grid, block, 0, kernel);
}

/// The text of the launch's fault, or empty if the launch runs to its end.
template <class Kernel>
std::string fault_of(dim3 grid, dim3 block, std::size_t shared, const Kernel& kernel) {
  try {
    launch(grid, block, shared, kernel);
  } catch (const executor::Fault& fault) {
    return fault.what();
  }
  return "";
}
template <class Kernel>
std::string fault_of(dim3 grid, dim3 block, const Kernel& kernel) {
  return fault_of(grid, block, 0, kernel);
}

/// While it lives, `seed` schedules this OS thread's launches.
struct Seeded {
  explicit Seeded(std::uint64_t seed) { executor::set_schedule({seed}); }
  ~Seeded() { executor::set_schedule({0}); }
};

/// Linear index of the calling thread in its block, and of that block in the grid.
inline unsigned thread_number() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned block_number() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

}  // namespace assay::host_test
