// The words of a declaration: names, numbers and signs. Shared by the reader of entries and of --arg values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Longest entry or value that is read.
inline constexpr std::size_t kLongestEntry = 4096;

struct EntryToken {
  enum Kind { word, number, sign, text } kind = sign;
  std::string_view spelling;
  bool is(std::string_view s) const { return spelling == s; }
};

/// Throws InputError for a character that no declaration has. `::` is one sign, every other sign one
/// character; comments are no tokens.
std::vector<EntryToken> entry_tokens(std::string_view text);

/// The tokens as C++ would read them again: a blank only where two words meet.
std::string join_tokens(const std::vector<EntryToken>& tokens, std::size_t from, std::size_t to);

/// Text of unknown origin within one line: short, printable, in quotes.
std::string quote_entry(std::string_view text);

/// True for an expression that can be pasted into a call: names, numbers and operators, brackets balanced.
bool is_plain_expression(std::string_view text);

}  // namespace assay
