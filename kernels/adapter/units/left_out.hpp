// SPDX-License-Identifier: Apache-2.0
// What the host compiler and nvcc do not both see of a file: the branches that ask for nvcc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Lines that nvcc compiles and the host compiler leaves out, and the macro that decides it.
struct LeftOut {
  int from = 0, to = 0;
  std::string macro;
  bool only_on_host = false;  // the other way round: nvcc leaves them out
};

/// The branches of #if, #ifdef and #ifndef that are not taken because __CUDACC__, __NVCC__ and __CUDA_ARCH__
/// are not defined, and those that are taken because of that. A condition that also depends on something else
/// counts as left out. Branches without any code do not count.
std::vector<LeftOut> left_out_on_host(std::string_view text);

}  // namespace assay
