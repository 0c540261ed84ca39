// SPDX-License-Identifier: Apache-2.0
// Vector exponentials of libraries, each in a file that is compiled for AVX2.
#pragma once

#include <cstdint>

namespace assay::functions {

void evaluate_eigen_exp(const void* a, const void* b, void* out, std::int64_t n, void* stream);
/// Call it only if sleef_missing() is empty.
void evaluate_sleef_exp(const void* a, const void* b, void* out, std::int64_t n, void* stream);
/// Empty, or why SLEEF cannot be called.
const char* sleef_missing();

}  // namespace assay::functions
