// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

extern char** environ;

namespace assay::isolation {
namespace {

/// Settings of what a kernel is made of. A user of this machine sets them; a CI keeps its tokens elsewhere.
constexpr std::string_view kKernelVariables[] = {
    "CUDA_*", "NVIDIA_*", "CUBLAS_*", "CUDNN_*", "LD_LIBRARY_PATH", "OMP_*", "KMP_*", "GOMP_*", "MKL_*",
    "OPENBLAS_*",
    // Python and its frameworks, which ask for the user's name, too, and for a compiler.
    "PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "USER", "LOGNAME", "CC", "CXX", "XDG_CACHE_HOME", "TRITON_*",
    "TORCH_*", "TORCHINDUCTOR_*", "NUMBA_*", "CUPY_*", "JAX_*", "XLA_*",
    // Sanitizers.
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
    // The warden reads it.
    "ASSAY_WORKER_MEMORY"};

}  // namespace

std::vector<std::string> kept_environment(std::span<const std::string_view> names) {
  std::vector<std::string> kept;
  for (std::string_view name : names) {
    const bool all = name.ends_with('*');
    if (all) name.remove_suffix(1);
    for (char** one = environ; one && *one; ++one) {
      const std::string_view text = *one;
      if (text.starts_with(name) && std::ranges::count(kept, text) == 0 &&
          (all ? text.find('=') != text.npos : text.substr(name.size()).starts_with('=')))
        kept.emplace_back(text);
    }
  }
  return kept;
}

std::vector<std::string> names_to_keep() {
  const char* const set = std::getenv(kKeepVariable);
  std::vector<std::string> names;
  std::istringstream text(set ? set : "");
  for (std::string name; std::getline(text, name, ',');)
    if (!name.empty()) names.push_back(name);
  return names;
}

std::vector<std::string> environment_of_kernels() {
  std::vector<std::string_view> names(std::begin(kUsualVariables), std::end(kUsualVariables));
  // CUDA_HOME and CUDA_PATH are among those that begin with CUDA_.
  names.insert(names.end(), std::begin(kKernelVariables), std::end(kKernelVariables));
  const std::vector<std::string> more = names_to_keep();
  for (const std::string& name : more)
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  return kept_environment(names);
}

}  // namespace assay::isolation
