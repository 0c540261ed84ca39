// One array as a file holds it, whatever the file's format: rows of its last dimension in C order, and what
// its elements are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// bits16: two bytes that the format calls an integer, or nothing; bf16 travels so where a format lacks it.
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

/// Any shape of two or more dimensions is rows of its last one; one dimension is a single row.
struct MatrixShape {
  std::int64_t rows = 1, columns = 0, bytes = 0;
};
/// Nothing where the bytes do not fit 63 bits. The shape has a dimension, and none is negative.
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
