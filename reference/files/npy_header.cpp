// SPDX-License-Identifier: Apache-2.0
#include "reference/files/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace assay {
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
