// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/plain_text.hpp"

#include <cstddef>
#include <cstdint>

namespace assay::isolation {
namespace {

constexpr char kEscape = '\x1b', kBell = '\a';

bool within(char c, int least, int most) {
  const int n = static_cast<unsigned char>(c);
  return least <= n && n <= most;
}

/// The bytes of the escape sequence at the beginning of the text. One that is not finished ends with it.
std::size_t escape_sequence(std::string_view text) {
  std::size_t at = 1;
  if (at >= text.size()) return at;
  const char kind = text[at++];
  if (kind == '[') {
    // Parameters, then one byte that ends it.
    while (at < text.size() && within(text[at], 0x20, 0x3f)) ++at;
    return at < text.size() && within(text[at], 0x40, 0x7e) ? at + 1 : at;
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
    // A string up to a bell, or to ESC and a backslash.
    for (; at < text.size() && text[at] != '\n'; ++at) {
      if (text[at] == kBell) return at + 1;
      if (text[at] == kEscape) return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
    }
    return at;
  }
  // ESC, bytes between, and one that ends it: "ESC ( B".
  at = 1;
  while (at < text.size() && within(text[at], 0x20, 0x2f)) ++at;
  return at < text.size() && within(text[at], 0x30, 0x7e) ? at + 1 : at;
}

/// The bytes of the UTF-8 character at the beginning of the text; 0 if there is none.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80                     ? 1
                           : first >= 0xc2 && first < 0xe0  ? 2
                           : (first & 0xf0) == 0xe0         ? 3
                           : first >= 0xf0 && first <= 0xf4 ? 4
                                                            : 0;
  if (size == 0 || size > text.size()) return 0;
  std::uint32_t code = size == 1 ? first : first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!within(text[i], 0x80, 0xbf)) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr std::uint32_t kLeastOfSize[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < kLeastOfSize[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : size;
}

/// Characters that show the text beside them in another order: U+200E, U+200F, U+202A to U+202E, U+2066 to
/// U+2069.
bool turns_text(std::string_view text) {
  if (text[0] != '\xe2') return false;
  return (text[1] == '\x80' && (within(text[2], 0x8e, 0x8f) || within(text[2], 0xaa, 0xae))) ||
         (text[1] == '\x81' && within(text[2], 0xa6, 0xa9));
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t size = 1;
    if (text[0] == kEscape) {
      size = escape_sequence(text);
    } else if (text[0] == '\n') {
      out += '\n';
    } else if (within(text[0], 0, 0x1f) || text[0] == '\x7f') {
      out += ' ';
    } else if (size = character(text); size == 0) {
      out += "\xef\xbf\xbd", size = 1;
    } else if (size == 2 && text[0] == '\xc2' && within(text[1], 0x80, 0x9f)) {
      out += ' ';  // a control character of two bytes
    } else if (size == 3 && turns_text(text)) {
      out += ' ';
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace assay::isolation
