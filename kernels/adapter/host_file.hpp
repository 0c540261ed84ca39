// SPDX-License-Identifier: Apache-2.0
// What the host compiler reads before a CUDA file, in the place of nvcc's cuda_runtime.h. It leaves no macro
// whose name is this project's.
#pragma once

#include "kernels/adapter/host_runtime.hpp"

#undef ASSAY_BACKEND
#undef ASSAY_DYNAMIC_SHARED
#undef ASSAY_HOST_CUDA
#undef ASSAY_SHARED
