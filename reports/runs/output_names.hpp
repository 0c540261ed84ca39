// SPDX-License-Identifier: Apache-2.0
// Where the outputs for a file of logits are expected.
#pragma once

#include <filesystem>

#include "reference/problem.hpp"

namespace assay {

/// What the values of an op are called in files: "probs", or "values". Also the array name in "x.npz", if the
/// user names none.
const char* usual_name(Op op);

/// The file name of outputs beside a file of logits. For "normal_1_V33.npy" it is "normal_1_V33.probs.npy"
/// and "normal_1_V33.indices.npy"; for ops whose values are no probabilities "normal_1_V33.values.npy".
std::filesystem::path values_beside(const std::filesystem::path& logits, Op op);
std::filesystem::path indices_beside(const std::filesystem::path& logits);

}  // namespace assay
