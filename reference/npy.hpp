// NumPy .npy files (format 1.0, 2.0 and 3.0): little-endian f2, f4, f8, C order. Any shape of two or more
// dimensions is taken as rows of its last dimension; one dimension is a single row.
#pragma once

#include <filesystem>

#include "reference/error.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// Throws InputError naming the file and the reason: missing, not .npy, truncated, wrong dtype or order.
Tensor read_npy(const std::filesystem::path& file);

/// Writes rows x V of f16, f32 or f64 (bf16 has no .npy descriptor: InputError). Whole or not at all.
void write_npy(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace assay
