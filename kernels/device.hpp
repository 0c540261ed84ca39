// The GPU this process can use, if any. Works in a build without CUDA and on a machine without a driver.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Empty if the backend can run here, else why not ("no GPU: ...", "this CPU has no FMA").
std::string unavailable_reason(Backend backend);

/// True if the CUDA side was compiled in.
bool built_with_cuda();

/// Label and value pairs: GPU, driver, runtime, clocks, memory; empty without a GPU.
std::vector<std::pair<std::string, std::string>> describe_device();

/// Selects the CUDA device ordinal for later launches. Returns an error sentence, empty if it worked.
std::string select_device(int ordinal);
int selected_device();
/// A name for the selected device that every process here knows it by; empty without one.
std::string device_identity();
/// CUDA devices this process can select; 0 where there is no CUDA.
int device_count();

}  // namespace assay
