// The head of an .npy: magic, version, and a Python dictionary of descr, fortran_order and shape.
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

/// Leaves the source at the first element. Throws InputError.
NpyHeader read_npy_header(ByteSource& in);

struct NpyType {
  Stored type = Stored::f32;
  bool big_endian = false;
};
/// "<f4", ">i8", "|V2", "bfloat16"; nothing for what is not read.
std::optional<NpyType> npy_type(std::string_view descr);

}  // namespace assay
