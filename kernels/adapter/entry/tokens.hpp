// SPDX-License-Identifier: Apache-2.0
// The words of a declaration: names, numbers and signs. The readers of entries and of --arg values share
// them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// C++ source as tokens with their places, so that a rewriter never looks inside a string or a comment.
struct SourceToken {
  enum Kind { word, number, text, sign, blank, directive } kind = sign;
  std::string_view spelling;  // blank: white space, comments, spliced lines; directive: through its last line
  int line = 1;
  bool is(std::string_view s) const { return spelling == s; }
};

/// Every character of the source belongs to exactly one token. A sign is a single character, except `::`. It
/// never fails: a string or comment that is not closed runs to the end.
std::vector<SourceToken> source_tokens(std::string_view source);

/// The longest entry or value that is read, in characters.
inline constexpr std::size_t kLongestEntry = 4096;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct EntryToken {
  enum Kind { word, number, sign, text } kind = sign;
  std::string_view spelling;
  bool is(std::string_view s) const { return spelling == s; }
};

/// Throws InputError for a character that cannot be in a declaration. `::` is one sign; every other sign is
/// one character. Comments give no tokens.
std::vector<EntryToken> entry_tokens(std::string_view text);

/// Joins the tokens so that C++ reads the same tokens again. There is a blank only between two words.
std::string join_tokens(const std::vector<EntryToken>& tokens, std::size_t from, std::size_t to);

/// True for an expression that can be pasted into a call: names, numbers and operators, with balanced
/// brackets.
bool is_plain_expression(std::string_view text);

}  // namespace assay
