// SPDX-License-Identifier: Apache-2.0
// CUDA's headers and words on the host executor: provided, replaced, unsupported, or renamed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace assay::host_words {

/// Headers whose words host_runtime.hpp provides.
inline constexpr std::string_view kProvided[] = {"cuda.h",
                                                 "cuda_runtime.h",
                                                 "cuda_runtime_api.h",
                                                 "cuda_fp16.h",
                                                 "cuda_fp16.hpp",
                                                 "cuda_bf16.h",
                                                 "cuda_bf16.hpp",
                                                 "device_launch_parameters.h",
                                                 "math_constants.h",
                                                 "math_functions.h",
                                                 "vector_types.h",
                                                 "vector_functions.h",
                                                 "device_functions.h",
                                                 "device_types.h",
                                                 "host_defines.h",
                                                 "driver_types.h",
                                                 "builtin_types.h",
                                                 "sm_20_intrinsics.h",
                                                 "sm_30_intrinsics.h",
                                                 "cuda_device_runtime_api.h"};
/// Headers that a file of the executor replaces.
struct Replaced {
  std::string_view header, by;
};
inline constexpr Replaced kReplaced[] = {{"cooperative_groups.h", "cooperative_groups.hpp"},
                                         {"cooperative_groups/reduce.h", "cooperative_groups.hpp"},
                                         {"cub/cub.cuh", "cub.hpp"},
                                         {"cub/block/block_reduce.cuh", "cub.hpp"},
                                         {"cub/warp/warp_reduce.cuh", "cub.hpp"},
                                         {"cub/thread/thread_operators.cuh", "cub.hpp"},
                                         {"cub/util_type.cuh", "cub.hpp"},
                                         {"cub/version.cuh", "cub.hpp"}};
/// Libraries and headers that the executor does not support, by how their names begin.
inline constexpr std::string_view kForeign[] = {"cooperative_groups/",
                                                "cub/",
                                                "cuda/",
                                                "thrust/",
                                                "mma.h",
                                                "cuda_fp8",
                                                "cuda_fp6",
                                                "cuda_fp4",
                                                "cuda_pipeline",
                                                "cuda_awbarrier",
                                                "cutlass/",
                                                "cute/",
                                                "curand",
                                                "cublas",
                                                "cudnn",
                                                "torch/",
                                                "ATen/",
                                                "c10/",
                                                "nvToolsExt"};
/// Unsupported words that need no header.
inline constexpr std::string_view kForeignWords[] = {"asm",
                                                     "__asm__",
                                                     "__asm",
                                                     "cudaLaunchKernel",
                                                     "cudaLaunchKernelEx",
                                                     "cudaLaunchKernelExC",
                                                     "cudaLaunchCooperativeKernel",
                                                     "cuLaunchKernel",
                                                     "__pipeline_memcpy_async",
                                                     "__cluster_dims__",
                                                     "tex1Dfetch",
                                                     "cudaGraphLaunch",
                                                     "cudaGridDependencySynchronize"};
/// CUDA's words that the C library also has at global scope, for its own use.
inline constexpr std::string_view kClashing[] = {"__expf",   "__logf",  "__log2f", "__log10f", "__powf",
                                                 "__exp10f", "__sqrtf", "exp10f",  "rsqrtf",   "rsqrt"};

template <std::size_t n>
bool contains(const std::string_view (&all)[n], std::string_view s) {
  return std::find(std::begin(all), std::end(all), s) != std::end(all);
}

/// The name in an #include with its delimiters, "name" or <name>. Empty for any other directive.
inline std::string_view included(std::string_view directive) {
  std::size_t i = 1;
  const auto blank = [&] { return i < directive.size() && (directive[i] == ' ' || directive[i] == '\t'); };
  while (blank()) ++i;
  if (!directive.substr(i).starts_with("include")) return {};
  i += 7;
  while (blank()) ++i;
  if (i >= directive.size() || (directive[i] != '"' && directive[i] != '<')) return {};
  const std::size_t end = directive.find(directive[i] == '<' ? '>' : '"', i + 1);
  return end == directive.npos ? std::string_view{} : directive.substr(i, end - i);
}

}  // namespace assay::host_words
