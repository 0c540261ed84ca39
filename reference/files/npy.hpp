// SPDX-License-Identifier: Apache-2.0
// NumPy .npy files (formats 1.0, 2.0 and 3.0). Elements: f2, f4, f8, and i4 and i8 for indices, in either
// byte order and in C or Fortran order; u2, i2 and V2 where the caller says that they hold bf16. An array of
// two or more dimensions is read as rows of its last dimension; an array of one dimension is one row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/files/byte_source.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// .npy has no descriptor for bf16. `refused`: bf16 is an error. `as_u2`: bf16 is written as the 16 bits of a
/// u2, and read from u2, i2 and V2.
enum class Bf16 { refused, as_u2 };

/// Reads all that is left of the source. Throws InputError that names the place and the reason.
StoredArray read_npy_array(ByteSource& in);

/// Throws InputError that names the file and the reason: missing, not .npy, truncated, wrong dtype.
Tensor read_npy(const std::filesystem::path& file, Bf16 bf16 = Bf16::refused);

struct IndexMatrix {
  std::int64_t rows = 0, k = 0;
  std::vector<std::int64_t> at;  // rows x k
};

/// Writes rows x V elements. The file is written whole or not at all.
void write_npy(const std::filesystem::path& file, const Tensor& tensor, Bf16 bf16 = Bf16::refused);
/// Writes rows x k indices as i4.
void write_npy_indices(const std::filesystem::path& file, const IndexMatrix& indices);

/// The header of an .npy file: magic, version, and a Python dictionary with descr, fortran_order and shape.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header and leaves the source at the first element. Throws InputError.
NpyHeader read_npy_header(ByteSource& in);

struct NpyType {
  Stored type = Stored::f32;
  bool big_endian = false;
};
/// The type of a descr such as "<f4", ">i8", "|V2" or "bfloat16"; empty for a type that is not read.
std::optional<NpyType> npy_type(std::string_view descr);

}  // namespace assay
