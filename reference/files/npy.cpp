// SPDX-License-Identifier: Apache-2.0
// Reads and writes .npy. The header is not trusted: its shape is checked against the size of the file before
// memory is allocated. A file is written beside its target and then renamed, so it is complete or absent.
#include "reference/files/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "reference/files/tensor_file.hpp"
#include "reference/paths.hpp"

namespace assay {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  refuse_file(file.string(), reason);
}

// From Fortran order, in which the first dimension varies fastest.
std::vector<std::byte> in_c_order(const std::vector<std::byte>& from, const std::vector<std::int64_t>& shape,
                                  std::size_t element) {
  std::vector<std::byte> to(from.size());
  if (to.empty()) return to;
  std::vector<std::size_t> stride(shape.size(), element);
  for (std::size_t d = 1; d < shape.size(); ++d)
    stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::size_t i = 0, source = 0; i < to.size(); i += element) {
    std::memcpy(to.data() + i, from.data() + source, element);
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += stride[d];
      if (++at[d] < shape[d]) break;
      source -= stride[d] * static_cast<std::size_t>(shape[d]);
      at[d] = 0;
    }
  }
  return to;
}

void swap_bytes(std::vector<std::byte>& bytes, std::size_t element) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(element))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(element));
}

void write_array(const std::filesystem::path& file, const char* descr, std::int64_t rows,
                 std::int64_t columns, const std::vector<std::byte>& bytes) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", descr, rows, columns);
  dict.append(63 - (10 + dict.size()) % 64, ' ').push_back('\n');  // elements start at a multiple of 64
  std::string head(kNpyMagic);
  head += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};

  // rename is atomic within a folder.
  const std::filesystem::path part = unique_part(file);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) throw_unwritten(file, errno);
  out << head << dict;
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  int why = out ? 0 : errno;
  std::error_code error;
  if (out) std::filesystem::rename(part, file, error);
  if (out && !error) return;
  if (error) why = error.value();
  std::filesystem::remove(part, error);
  throw_unwritten(file, why);
}

}  // namespace

StoredArray read_npy_array(ByteSource& in) {
  const NpyHeader h = read_npy_header(in);
  const auto type = npy_type(h.descr);
  if (!type)
    refuse_file(in.place(), fmt::format("dtype '{}' is not supported (float16, float32 and float64 are read, "
                                        "bfloat16 as uint16, int16 or V2, and for indices int32 and int64)",
                                        printable(h.descr)));
  if (h.shape.empty()) refuse_file(in.place(), "bad header: the shape () has no dimension");
  const auto m = matrix_of(h.shape, type->type);
  if (!m) refuse_file(in.place(), "bad header: the shape has more than 2^63 bytes");
  const auto expected = static_cast<std::uint64_t>(m->bytes);
  if (in.left() < expected)
    refuse_file(in.place(), fmt::format("truncated: expected {} bytes of data, got {}", expected, in.left()));
  if (in.left() > expected)
    refuse_file(in.place(),
                fmt::format("trailing bytes: expected {} bytes of data, got {}", expected, in.left()));
  StoredArray a{in.place(), type->type, "'" + h.descr + "'", m->rows, m->columns, in.take(expected)};
  const std::size_t element = size_of(a.type);
  if (h.fortran_order && h.shape.size() > 1) a.bytes = in_c_order(a.bytes, h.shape, element);
  if (type->big_endian) swap_bytes(a.bytes, element);
  return a;
}

Tensor read_npy(const std::filesystem::path& file, Bf16 bf16) {
  FileBytes in(file);
  return tensor_of(read_npy_array(in), bf16);
}

void write_npy(const std::filesystem::path& file, const Tensor& tensor, Bf16 bf16) {
  const char* descr = tensor.dtype == Dtype::f16   ? "<f2"
                      : tensor.dtype == Dtype::f32 ? "<f4"
                      : tensor.dtype == Dtype::f64 ? "<f8"
                      : bf16 == Bf16::as_u2        ? "<u2"
                                                   : nullptr;
  if (!descr) fail(file, fmt::format("{} has no .npy descriptor", name(tensor.dtype)));
  if (tensor.bytes.size() != static_cast<std::size_t>(tensor.rows * tensor.V) * size_of(tensor.dtype))
    throw std::logic_error("a tensor's bytes do not match its shape");
  write_array(file, descr, tensor.rows, tensor.V, tensor.bytes);
}

void write_npy_indices(const std::filesystem::path& file, const IndexMatrix& m) {
  std::vector<std::byte> bytes(m.at.size() * 4);
  for (std::size_t i = 0; i < m.at.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(m.at[i]);
    std::memcpy(bytes.data() + 4 * i, &narrow, 4);
  }
  write_array(file, "<i4", m.rows, m.k, bytes);
}

namespace {

constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 20;  // a header is one short dictionary

// The header is a Python dictionary literal with exactly the keys descr, fortran_order and shape. Every
// function returns false if the text is something else.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool parse(NpyHeader& h) {
    bool descr = false, order = false, shape = false;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':')) return false;
      if (key == "descr" && !descr) {
        descr = value_of_descr(h.descr);
        if (!descr) return false;
      } else if (key == "fortran_order" && !order) {
        order = boolean(h.fortran_order);
        if (!order) return false;
      } else if (key == "shape" && !shape) {
        shape = tuple(h.shape);
        if (!shape) return false;
      } else {
        return false;
      }
      if (!take(',') && !peek('}')) return false;
    }
    skip_space();
    return rest_.empty() && descr && order && shape;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool peek(char c) {
    skip_space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool string(std::string& out) {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return false;
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  // A structured dtype is a list. Its text becomes the name that the dtype error shows.
  bool value_of_descr(std::string& out) {
    if (!peek('[')) return string(out);
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) return false;
    out = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool& out) {
    out = take("True");
    return out || take("False");
  }
  bool number(std::int64_t& out) {
    skip_space();
    std::size_t digits = 0;
    for (out = 0; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
      if (__builtin_mul_overflow(out, 10, &out) || __builtin_add_overflow(out, rest_[digits] - '0', &out))
        return false;
    rest_.remove_prefix(digits);
    take('L');  // Python 2 wrote long integers with an L
    return digits > 0;
  }
  bool tuple(std::vector<std::int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      if (!number(out.emplace_back())) return false;
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

}  // namespace

NpyHeader read_npy_header(ByteSource& in) {
  const auto truncated = [&] { refuse_file(in.place(), "truncated in the header"); };
  std::byte head[8];
  if (in.left() >= kNpyMagic.size())
    in.read(head, kNpyMagic.size());
  else
    head[0] = {};
  if (std::memcmp(head, kNpyMagic.data(), kNpyMagic.size()) != 0)
    refuse_file(in.place(), "not an .npy file (the magic \\x93NUMPY is missing)");
  if (in.left() < 4) truncated();
  in.read(head, 2);
  const int major = std::to_integer<int>(head[0]), minor = std::to_integer<int>(head[1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse_file(in.place(),
                fmt::format(".npy format {}.{} is unknown (1.0, 2.0 and 3.0 are read)", major, minor));
  const std::size_t digits = major == 1 ? 2 : 4;  // since format 2.0 the length of the header has four bytes
  if (in.left() < digits) truncated();
  std::byte number[4] = {};
  in.read(number, digits);
  const std::size_t length = little_endian<std::uint32_t>(number);
  if (length > in.left())
    refuse_file(in.place(),
                fmt::format("truncated in the header: expected {} bytes, got {}", length, in.left()));
  if (length > kMaxNpyHeader) refuse_file(in.place(), fmt::format("bad header: {} bytes long", length));
  std::string text(length, '\0');
  in.read(reinterpret_cast<std::byte*>(text.data()), length);
  NpyHeader h;
  if (!HeaderParser(text).parse(h))
    refuse_file(in.place(), "bad header (expected a dictionary of descr, fortran_order and shape)");
  return h;
}

std::optional<NpyType> npy_type(std::string_view descr) {
  if (descr == "bfloat16") return NpyType{Stored::bf16};
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0];
  const std::string_view kind = descr.substr(1);
  if (order == '|' && kind == "V2") return NpyType{Stored::bits16};
  if (order != '<' && order != '>') return std::nullopt;
  const bool big = order == '>';
  if (kind == "f2") return NpyType{Stored::f16, big};
  if (kind == "f4") return NpyType{Stored::f32, big};
  if (kind == "f8") return NpyType{Stored::f64, big};
  if (kind == "i4") return NpyType{Stored::i32, big};
  if (kind == "i8") return NpyType{Stored::i64, big};
  if (kind == "u2" || kind == "i2" || kind == "V2") return NpyType{Stored::bits16, big};
  return std::nullopt;
}

}  // namespace assay
