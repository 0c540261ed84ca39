// SPDX-License-Identifier: Apache-2.0
// One array from a file, in the same form for every file format: rows of its last dimension in C order, and
// the type of its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// bits16: 16-bit elements that the file calls integers, or gives no type. A format without bf16 stores it
/// so.
enum class Stored { f16, bf16, f32, f64, i32, i64, bits16 };

constexpr std::size_t size_of(Stored t) {
  return t == Stored::f64 || t == Stored::i64 ? 8 : t == Stored::f32 || t == Stored::i32 ? 4 : 2;
}

struct StoredArray {
  std::string place;  // "x.npz:logits", for error lines
  Stored type = Stored::f32;
  std::string type_in_file;  // "'<f4'", "F32"
  std::int64_t rows = 0, columns = 0;
  std::vector<std::byte> bytes;
};

/// The shape as a matrix: rows of the last dimension. An array of one dimension is one row.
struct MatrixShape {
  std::int64_t rows = 1, columns = 0, bytes = 0;
};
/// Empty if the size in bytes exceeds 63 bits. The shape has at least one dimension, and none is negative.
inline std::optional<MatrixShape> matrix_of(const std::vector<std::int64_t>& shape, Stored type) {
  MatrixShape m;
  bool overflow = false;
  m.columns = shape.back();
  for (std::size_t i = 0; i + 1 < shape.size(); ++i)
    overflow |= __builtin_mul_overflow(m.rows, shape[i], &m.rows);
  overflow |= __builtin_mul_overflow(m.rows, m.columns, &m.bytes);
  overflow |= __builtin_mul_overflow(m.bytes, static_cast<std::int64_t>(size_of(type)), &m.bytes);
  if (overflow) return std::nullopt;
  return m;
}

}  // namespace assay
