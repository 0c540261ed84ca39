// SPDX-License-Identifier: Apache-2.0
// The header of an .npy file: magic, version, and a Python dictionary with descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/files/byte_source.hpp"
#include "reference/files/stored_array.hpp"

namespace assay {

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
