// SPDX-License-Identifier: Apache-2.0
// Text in quotes, for those who read it: a shell, a compiler, a person.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// In quotes that every shell knows.
inline std::string in_shell_quotes(std::string_view word) {
  std::string s = "'";
  for (const char c : word) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}

/// The same where the word needs quotes, and the word itself elsewhere.
inline std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%#";
  const bool plain = !word.empty() && word[0] != '#' && word.find_first_not_of(kPlain) == word.npos;
  return plain ? std::string(word) : in_shell_quotes(word);
}

/// A literal of C and C++. A control character becomes a blank.
inline std::string c_string(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += static_cast<unsigned char>(c) >= ' ' ? c : ' ';  // not signed: a path may be UTF-8
  }
  return s + '"';
}

/// Text of unknown origin for one line of a message: short, printable, in quotes.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string s = "'";
  for (const char c : text.substr(0, kMost)) s += c >= ' ' && c <= '~' ? c : '?';
  return s + (text.size() > kMost ? "...'" : "'");
}

}  // namespace assay
