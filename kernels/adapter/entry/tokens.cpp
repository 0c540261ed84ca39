// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/tokens.hpp"

#include <algorithm>

#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
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
