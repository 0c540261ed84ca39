// NumPy .npy files (format 1.0, 2.0 and 3.0): little-endian f2, f4, f8, C order; u2 where it is said to hold
// bf16; i4 and i8 for indices. Any shape of two or more dimensions is taken as rows of its last dimension;
// one dimension is a single row.
#pragma once

#include <filesystem>

#include "reference/error.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// bf16 has no .npy descriptor of its own: refused, or kept as the 16 bits of a u2.
enum class Bf16 { refused, as_u2 };

/// Throws InputError naming the file and the reason: missing, not .npy, truncated, wrong dtype or order.
Tensor read_npy(const std::filesystem::path& file, Bf16 bf16 = Bf16::refused);

struct IndexMatrix {
  std::int64_t rows = 0, k = 0;
  std::vector<std::int64_t> at;  // rows x k
};
/// i4 or i8; throws like read_npy.
IndexMatrix read_npy_indices(const std::filesystem::path& file);

/// Writes rows x V. Whole or not at all.
void write_npy(const std::filesystem::path& file, const Tensor& tensor, Bf16 bf16 = Bf16::refused);
/// As i4.
void write_npy_indices(const std::filesystem::path& file, const IndexMatrix& indices);

}  // namespace assay
