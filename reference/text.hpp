// SPDX-License-Identifier: Apache-2.0
// Texts for people: what is wrong with JSON, what a mistyped word may mean, and words in quotes.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace assay {

// JSON from files, with errors in plain words: the library's own texts name its exceptions and quote whatever
// bytes it has met.

/// Throws InputError: "is not JSON: line 3, column 14".
nlohmann::json parse_json(const std::string& text);
/// The same for one line of a file, whose number the caller says: "is not JSON: column 14".
nlohmann::json parse_json_line(const std::string& line);

/// What an exception of the library means: "key 'V' not found", "type must be number, but is string".
std::string plain_words(const nlohmann::json::exception& e);

// Lists of words: what is in one, and what a mistyped word may have meant.

/// True for one of the words of a list, which has a blank between two of them.
constexpr bool is_word_of(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (std::size_t at = 0; (at = list.find(word, at)) != list.npos; ++at) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

/// Number of single-character changes that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `words` that `typed` probably meant; empty if none is near. A word that begins with all of
/// `typed` counts as near: "online_block/f32" means "online_block/f32@host".
std::string nearest_word(std::string_view typed, std::span<const std::string> words);

/// "; did you mean normal_1?", for the end of an error message. Empty if no word is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string> words);

// Text in quotes, for those who read it: a shell, a compiler, a person.

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
