// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/tokens.hpp"

#include <algorithm>
#include <string>

#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

bool is_word_char(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) > 127;
}
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The index behind a line splice (a backslash and a line break) at i, or i if there is none.
std::size_t skip_splice(std::string_view s, std::size_t i) {
  if (s[i] != '\\') return i;
  return s.substr(i, 2) == "\\\n" ? i + 2 : s.substr(i, 3) == "\\\r\n" ? i + 3 : i;
}

/// The index behind the comment that begins at i, or i if there is none.
std::size_t skip_comment(std::string_view s, std::size_t i) {
  if (s[i] != '/') return i;
  if (s.substr(i, 2) == "//") {
    while (i < s.size() && s[i] != '\n') i += s[i] == '\\' && i + 1 < s.size() ? 2 : 1;
    return std::min(i, s.size());
  }
  if (s.substr(i, 2) == "/*") {
    const std::size_t end = s.find("*/", i + 2);
    return end == s.npos ? s.size() : end + 2;
  }
  return i;
}

/// The index behind the quoted text that begins at i.
std::size_t skip_quoted(std::string_view s, std::size_t i) {
  const char quote = s[i++];
  while (i < s.size() && s[i] != quote && s[i] != '\n') i += s[i] == '\\' ? 2 : 1;
  return std::min(i + 1, s.size());
}

/// The same for R"delimiter( ... )delimiter", where i is at the quote.
std::size_t skip_raw(std::string_view s, std::size_t i) {
  const std::size_t open = s.find('(', i);
  if (open == s.npos || open - i > 17) return skip_quoted(s, i);
  const std::string close = ")" + std::string(s.substr(i + 1, open - i - 1)) + "\"";
  const std::size_t end = s.find(close, open);
  return end == s.npos ? s.size() : end + close.size();
}

std::size_t skip_directive(std::string_view s, std::size_t i) {
  while (i < s.size() && s[i] != '\n') {
    if (s[i] == '"')
      i = skip_quoted(s, i);
    else if (const std::size_t after = skip_comment(s, i); after != i) {
      if (s.substr(i, 2) == "//") return after;
      i = after;
    } else
      i += s[i] == '\\' && i + 1 < s.size() ? (s.substr(i, 3) == "\\\r\n" ? 3 : 2) : 1;
  }
  return std::min(i, s.size());
}

}  // namespace

std::vector<SourceToken> source_tokens(std::string_view s) {
  std::vector<SourceToken> tokens;
  int line = 1;
  bool line_start = true;  // only blanks since the line began
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t begin = i;
    SourceToken::Kind kind = SourceToken::sign;
    const char c = s[i];
    bool new_line = false;  // a spliced line is not a new one: a # there begins no directive
    if (is_blank(c) || skip_comment(s, i) != i || skip_splice(s, i) != i) {
      kind = SourceToken::blank;
      while (i < s.size()) {
        if (is_blank(s[i]))
          new_line |= s[i++] == '\n';
        else if (const std::size_t next = skip_splice(s, i); next != i)
          i = next;
        else if (const std::size_t after = skip_comment(s, i); after != i)
          i = after;
        else
          break;
      }
    } else if (c == '#' && line_start) {
      kind = SourceToken::directive;
      i = skip_directive(s, i);
    } else if (is_digit(c) || (c == '.' && i + 1 < s.size() && is_digit(s[i + 1]))) {
      kind = SourceToken::number;
      while (i < s.size() && (is_word_char(s[i]) || s[i] == '.' ||
                              (s[i] == '\'' && i + 1 < s.size() && is_word_char(s[i + 1])) ||
                              ((s[i] == '+' || s[i] == '-') &&
                               (s[i - 1] == 'e' || s[i - 1] == 'E' || s[i - 1] == 'p' || s[i - 1] == 'P'))))
        ++i;
    } else if (is_word_char(c)) {
      kind = SourceToken::word;
      while (i < s.size() && is_word_char(s[i])) ++i;
      const std::string_view prefix = s.substr(begin, i - begin);
      if (i < s.size() && s[i] == '"' &&
          (prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R")) {
        kind = SourceToken::text;
        i = skip_raw(s, i);
      }
    } else if (c == '"' || c == '\'') {
      kind = SourceToken::text;
      i = skip_quoted(s, i);
    } else {
      i += s.substr(i, 2) == "::" ? 2 : 1;
    }
    const std::string_view spelling = s.substr(begin, i - begin);
    tokens.push_back({kind, spelling, line});
    const auto breaks = std::count(spelling.begin(), spelling.end(), '\n');
    line += static_cast<int>(breaks);
    line_start = kind == SourceToken::blank && (line_start || new_line);
  }
  return tokens;
}

namespace {

bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::vector<EntryToken> entry_tokens(std::string_view text) {
  if (text.size() > kLongestEntry)
    throw InputError("--entry: longer than " + std::to_string(kLongestEntry) + " characters");
  std::vector<EntryToken> tokens;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const std::size_t begin = i;
    EntryToken::Kind kind = EntryToken::sign;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++i;
      continue;
    }
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) throw InputError("--entry: a comment is not closed");
      i = end + 2;
      continue;
    }
    if (is_letter(c)) {
      kind = EntryToken::word;
      while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) ++i;
    } else if (is_digit(c) || (c == '.' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      kind = EntryToken::number;
      while (i < text.size() &&
             (is_letter(text[i]) || is_digit(text[i]) || text[i] == '.' ||
              ((text[i] == '+' || text[i] == '-') &&
               (text[i - 1] == 'e' || text[i - 1] == 'E' || text[i - 1] == 'p' || text[i - 1] == 'P'))))
        ++i;
    } else if (c == '"') {
      kind = EntryToken::text;
      i = text.find('"', i + 1);
      if (i == std::string_view::npos) throw InputError("--entry: a quote is not closed");
      ++i;
    } else if (text.substr(i, 2) == "::") {
      i += 2;
    } else if (std::string_view("()<>[]{}*&,;=:+-/%|^!~?.").find(c) != std::string_view::npos) {
      ++i;
    } else {
      throw InputError("--entry: " + in_quotes(text.substr(i, 1)) + " is no part of a declaration");
    }
    tokens.push_back({kind, text.substr(begin, i - begin)});
  }
  return tokens;
}

std::string join_tokens(const std::vector<EntryToken>& tokens, std::size_t from, std::size_t to) {
  std::string s;
  for (std::size_t i = from; i < to; ++i) {
    const bool word = tokens[i].kind != EntryToken::sign;
    // A blank is put only in front of a word that follows a word, * or &. So "> >" becomes ">>".
    if (i > from && word &&
        (tokens[i - 1].kind != EntryToken::sign || tokens[i - 1].is("*") || tokens[i - 1].is("&")))
      s += ' ';
    s += tokens[i].spelling;
  }
  return s;
}

bool is_plain_expression(std::string_view text) {
  std::vector<char> open;
  try {
    const std::vector<EntryToken> tokens = entry_tokens(text);
    if (tokens.empty()) return false;
    for (const EntryToken& t : tokens) {
      if (t.kind == EntryToken::text || t.is(";") || t.is("=") || t.is("[") || t.is("]") || t.is("{") ||
          t.is("}"))
        return false;
      // Brackets must be balanced. Comments are refused below: one would swallow what follows.
      if (t.is("(")) open.push_back('(');
      if (t.is(")")) {
        if (open.empty()) return false;
        open.pop_back();
      }
      if (t.is(",") && open.empty()) {
        // A comma outside parentheses is allowed only between template arguments: foo<1, 2>.
        if (text.find('<') == std::string_view::npos) return false;
      }
    }
  } catch (const InputError&) {
    return false;
  }
  return open.empty() && text.find("//") == std::string_view::npos &&
         text.find("/*") == std::string_view::npos;
}

}  // namespace assay
