// Reading and writing .npy. A header is not believed: its shape is checked against the size of the file
// before a byte is allocated. A file is written beside its target and renamed, so it is whole or absent.
#include "reference/npy.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 20;  // a header is one short dictionary

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw InputError(fmt::format("{}: {}", file.string(), reason));
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// The header is a Python dictionary literal with exactly the keys descr, fortran_order and shape. Every
// function returns false where the text is something else.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool parse(Header& h) {
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
  // A structured dtype is a list; its text becomes the name that the dtype error shows.
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
    take('L');  // Python 2 wrote long integers so
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

std::optional<Dtype> dtype_of(std::string_view descr) {
  if (descr == "<f2") return Dtype::f16;
  if (descr == "<f4") return Dtype::f32;
  if (descr == "<f8") return Dtype::f64;
  return std::nullopt;
}

// Magic, version and header; leaves the stream at the first element.
Header read_header(const std::filesystem::path& file, std::ifstream& in, std::uintmax_t size) {
  unsigned char head[12] = {};
  in.read(reinterpret_cast<char*>(head), 10);
  if (in.gcount() < 6 || std::memcmp(head, kMagic.data(), kMagic.size()) != 0)
    fail(file, "not an .npy file (the magic \\x93NUMPY is missing)");
  if (in.gcount() < 10) fail(file, "truncated in the header");
  const int major = head[6];
  if (major < 1 || major > 3 || head[7] != 0)
    fail(file, fmt::format(".npy format {}.{} is unknown (1.0, 2.0 and 3.0 are read)", major, int{head[7]}));
  std::size_t length = head[8] | std::size_t{head[9]} << 8;
  if (major > 1) {  // the header's length has four bytes since 2.0
    in.read(reinterpret_cast<char*>(head + 10), 2);
    if (in.gcount() < 2) fail(file, "truncated in the header");
    length |= std::size_t{head[10]} << 16 | std::size_t{head[11]} << 24;
  }
  const auto start = static_cast<std::uintmax_t>(in.tellg());
  if (length > size - start)
    fail(file, fmt::format("truncated in the header: expected {} bytes, got {}", length, size - start));
  if (length > kMaxHeader) fail(file, fmt::format("bad header: {} bytes long", length));
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  Header h;
  if (!in || !HeaderParser(text).parse(h))
    fail(file, "bad header (expected a dictionary of descr, fortran_order and shape)");
  return h;
}

/// Elements of a file as they lie there.
struct Array {
  std::string descr;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::byte> bytes;
};

/// `size_of_element`: bytes of one by its descriptor, or 0, after which `known` says what is read.
Array read_array(const std::filesystem::path& file, std::size_t (*size_of_element)(std::string_view),
                 const char* known) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) fail(file, "no such file");
  if (std::filesystem::is_directory(status)) fail(file, "is a directory");
  if (!std::filesystem::is_regular_file(status)) fail(file, "is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) fail(file, "cannot be read");

  const Header h = read_header(file, in, size);
  const std::size_t element = size_of_element(h.descr);
  if (element == 0)
    fail(file, fmt::format("dtype '{}' is {} ({})", h.descr,
                           h.descr.starts_with('>') ? "big-endian" : "not supported", known));
  if (h.fortran_order) fail(file, "is in Fortran order (C order is read)");
  if (h.shape.empty()) fail(file, "bad header: the shape () has no dimension");

  Array a;
  a.descr = h.descr;
  a.columns = h.shape.back();
  a.rows = 1;
  std::int64_t bytes = 0;
  bool overflow = false;
  for (std::size_t i = 0; i + 1 < h.shape.size(); ++i)
    overflow |= __builtin_mul_overflow(a.rows, h.shape[i], &a.rows);
  overflow |= __builtin_mul_overflow(a.rows, a.columns, &bytes);
  overflow |= __builtin_mul_overflow(bytes, static_cast<std::int64_t>(element), &bytes);
  if (overflow) fail(file, "bad header: the shape has more than 2^63 bytes");

  const std::uintmax_t expected = static_cast<std::uintmax_t>(bytes);
  const std::uintmax_t got = size - static_cast<std::uintmax_t>(in.tellg());
  if (got < expected) fail(file, fmt::format("truncated: expected {} bytes of data, got {}", expected, got));
  if (got > expected)
    fail(file, fmt::format("trailing bytes: expected {} bytes of data, got {}", expected, got));
  a.bytes.resize(static_cast<std::size_t>(bytes));
  in.read(reinterpret_cast<char*>(a.bytes.data()), static_cast<std::streamsize>(bytes));
  if (in.gcount() != bytes) fail(file, fmt::format("expected {} bytes of data, read {}", bytes, in.gcount()));
  return a;
}

std::size_t size_of_float(std::string_view descr) {
  const auto t = dtype_of(descr);
  return t ? size_of(*t) : 0;
}
std::size_t size_of_float_or_u2(std::string_view descr) { return descr == "<u2" ? 2 : size_of_float(descr); }
std::size_t size_of_index(std::string_view descr) { return descr == "<i4" ? 4 : descr == "<i8" ? 8 : 0; }

void write_array(const std::filesystem::path& file, const char* descr, std::int64_t rows,
                 std::int64_t columns, const std::vector<std::byte>& bytes) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", descr, rows, columns);
  dict.append(63 - (10 + dict.size()) % 64, ' ').push_back('\n');  // elements start at a multiple of 64
  std::string head(kMagic);
  head += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};

  // Unique among the processes and threads that may write the same file; rename is atomic in one folder.
  static std::atomic<unsigned> counter{0};
  std::filesystem::path part = file;
  part += fmt::format(".{}.{}.part", ::getpid(), counter++);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) fail(file, "cannot be written: " + std::generic_category().message(errno));
  out << head << dict;
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(part, file, error);
  if (!out || error) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    fail(file, error ? "cannot be written: " + error.message() : "cannot be written");
  }
}

}  // namespace

Tensor read_npy(const std::filesystem::path& file, Bf16 bf16) {
  Array a = bf16 == Bf16::as_u2
                ? read_array(file, size_of_float_or_u2, "'<f2', '<f4', '<f8' and, for bf16, '<u2' are read")
                : read_array(file, size_of_float, "'<f2', '<f4' and '<f8' are read");
  Tensor tensor;
  tensor.dtype = a.descr == "<u2" ? Dtype::bf16 : *dtype_of(a.descr);
  tensor.rows = a.rows;
  tensor.V = a.columns;
  tensor.bytes = std::move(a.bytes);
  return tensor;
}

IndexMatrix read_npy_indices(const std::filesystem::path& file) {
  const Array a = read_array(file, size_of_index, "indices are '<i4' or '<i8'");
  IndexMatrix m{a.rows, a.columns, {}};
  const std::size_t element = size_of_index(a.descr);
  for (std::size_t i = 0; i < a.bytes.size(); i += element) {
    std::int32_t narrow = 0;
    std::int64_t wide = 0;
    if (element == 4) {
      std::memcpy(&narrow, a.bytes.data() + i, 4);
      wide = narrow;
    } else {
      std::memcpy(&wide, a.bytes.data() + i, 8);
    }
    m.at.push_back(wide);
  }
  return m;
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
