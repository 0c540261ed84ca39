// cuDNN's softmax, found at run time. Nothing of cuDNN is needed to build this; without a GPU or the library
// it says so.
#pragma once

#include <string>

#include "kernels/registry.hpp"

namespace assay {

/// Empty if cuDNN can be called here, else why not: "no libcudnn.so is found". ASSAY_CUDNN names the file
/// where the loader does not find it.
std::string cudnn_missing();

/// The softmax of rows along their V columns, f16, bf16 or f32. `accurate` subtracts the maximum (ACCURATE);
/// FAST does not. Returns cuDNN's status, 0 for success; only where cudnn_missing() is empty.
int cudnn_softmax(bool accurate, const Problem& problem, const Buffers& buffers, const Stream& stream);

}  // namespace assay
