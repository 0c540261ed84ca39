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
#include <system_error>
#include <vector>

#include "reference/file_writing.hpp"
#include "reference/files/npy_header.hpp"
#include "reference/files/tensor_file.hpp"

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

}  // namespace assay
