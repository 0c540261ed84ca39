// SPDX-License-Identifier: Apache-2.0
// A sequence of bytes: a file, or a part of one. A container may state a wrong length. A reader therefore
// compares it with what is really there before it allocates memory for it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// Throws InputError, for example "x.npz: is encrypted". Line breaks in text from the file are not shown.
[[noreturn]] void refuse_file(const std::string& place, const std::string& reason);

/// Text from a file, made fit for one line: control characters become '?', and long text is cut.
std::string printable(std::string_view text);

/// "logits, probs, b". Of more than eight names it gives the first eight, then "and 12 more".
std::string list_of_names(const std::vector<std::string>& names);

class ByteSource {
 public:
  explicit ByteSource(std::string place) : place_(std::move(place)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ByteSource& operator=(ByteSource&&) = delete;

  /// The place that error messages start with.
  const std::string& place() const { return place_; }
  /// Number of bytes not read yet.
  std::uint64_t left() const { return left_; }
  /// Reads exactly n bytes, n <= left(). Throws InputError if the source has fewer.
  void read(std::byte* to, std::size_t n);
  /// The same, into a new buffer. At no time is more allocated than twice what has been read, plus 16 MiB.
  std::vector<std::byte> take(std::uint64_t n);

 protected:
  ByteSource(ByteSource&&) = default;
  virtual void get(std::byte* to, std::size_t n) = 0;
  std::uint64_t left_ = 0;

 private:
  std::string place_;
};

/// The bytes of a whole file.
class FileBytes final : public ByteSource {
 public:
  /// Throws InputError if this is not a regular file or cannot be read.
  explicit FileBytes(const std::filesystem::path& file);
  /// A file that is already in memory. The bytes must outlive this.
  FileBytes(std::string place, std::span<const std::byte> bytes);
  FileBytes(FileBytes&&) = default;

  std::uint64_t size() const { return size_; }
  /// Restricts reading to `length` bytes from `offset`. They must lie in the file.
  void window(std::uint64_t offset, std::uint64_t length);

 private:
  void get(std::byte* to, std::size_t n) override;

  std::uint64_t size_ = 0, end_ = 0;  // the end of the window
  std::optional<std::ifstream> in_;
  std::span<const std::byte> held_;  // the file, if it is in memory and in_ is empty
};

/// Reads a little-endian number.
template <class T>
T little_endian(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// One array from a file, in the same form for every file format: rows of its last dimension in C order, and
// the type of its elements.

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
