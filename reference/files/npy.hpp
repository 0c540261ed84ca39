// NumPy .npy files (format 1.0, 2.0 and 3.0): f2, f4, f8, and i4 and i8 for indices, in either byte order, in
// C or Fortran order; u2, i2 and V2 where they are said to hold bf16. Any shape of two or more dimensions is
// taken as rows of its last dimension; one dimension is a single row.
#pragma once

#include <filesystem>

#include "reference/error.hpp"
#include "reference/files/byte_source.hpp"
#include "reference/files/stored_array.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// bf16 has no .npy descriptor of its own: refused, or the 16 bits of a u2 (written so; i2 and V2 are read
/// too).
enum class Bf16 { refused, as_u2 };

/// All that is left of the source. Throws InputError naming the place and the reason.
StoredArray read_npy_array(ByteSource& in);

/// Throws InputError naming the file and the reason: missing, not .npy, truncated, wrong dtype.
Tensor read_npy(const std::filesystem::path& file, Bf16 bf16 = Bf16::refused);

struct IndexMatrix {
  std::int64_t rows = 0, k = 0;
  std::vector<std::int64_t> at;  // rows x k
};

/// Writes rows x V. Whole or not at all.
void write_npy(const std::filesystem::path& file, const Tensor& tensor, Bf16 bf16 = Bf16::refused);
/// As i4.
void write_npy_indices(const std::filesystem::path& file, const IndexMatrix& indices);

}  // namespace assay
