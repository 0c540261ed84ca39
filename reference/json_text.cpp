// SPDX-License-Identifier: Apache-2.0
#include "reference/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.hpp"

namespace assay {

namespace {

nlohmann::json parsed(const std::string& text, bool one_line) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    // e.byte is the number of bytes read, the bad one included.
    const std::size_t at = std::min(e.byte > 0 ? e.byte - 1 : 0, text.size());
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const std::size_t before = at == 0 ? text.npos : text.rfind('\n', at - 1);
    const std::size_t column = at - (before == text.npos ? 0 : before + 1) + 1;
    throw InputError(one_line ? fmt::format("is not JSON: column {}", column)
                              : fmt::format("is not JSON: line {}, column {}", line, column));
  } catch (const nlohmann::json::exception& e) {
    throw InputError("is not JSON that can be read: " + plain_words(e));
  }
}

}  // namespace

nlohmann::json parse_json(const std::string& text) { return parsed(text, false); }
nlohmann::json parse_json_line(const std::string& line) { return parsed(line, true); }

std::string plain_words(const nlohmann::json::exception& e) {
  const std::string what = e.what();
  const std::size_t end = what.starts_with("[json.exception.") ? what.find("] ") : what.npos;
  std::string words = end == what.npos ? what : what.substr(end + 2);
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  return words;
}

}  // namespace assay
