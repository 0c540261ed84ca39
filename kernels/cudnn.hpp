// SPDX-License-Identifier: Apache-2.0
// cuDNN's softmax, loaded at run time. The build needs nothing of cuDNN. Without a GPU or the library,
// cudnn_missing() says so.
#pragma once

#include <string>

#include "kernels/registry.hpp"

namespace assay {

/// Empty if cuDNN can be called here, otherwise the reason: "no libcudnn.so is found". If the loader does not
/// find the library, ASSAY_CUDNN can name the file.
std::string cudnn_missing();

/// Softmax of rows along their V columns; f16, bf16 or f32. With `accurate`, cuDNN subtracts the maximum
/// (ACCURATE), otherwise not (FAST). Returns cuDNN's status, 0 for success. Call only if cudnn_missing() is
/// empty.
int cudnn_softmax(bool accurate, const Problem& problem, const Buffers& buffers, const Stream& stream);

}  // namespace assay
