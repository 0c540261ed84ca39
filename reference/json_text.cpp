// SPDX-License-Identifier: Apache-2.0
#include "reference/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "reference/error.hpp"

namespace assay {

namespace {

/// Of a member that stands twice one reader takes the first, and another one the last.
struct NoMemberTwice {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> open = {};
  bool operator()(int, Event event, nlohmann::json& value) {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.get<std::string>()).second)
      throw InputError("has the member " + value.dump(-1, ' ', true).substr(0, 60) + " twice");
    return true;
  }
};

nlohmann::json parsed(const std::string& text, bool one_line) {
  try {
    // Records, which this program has written itself, are many.
    return one_line ? nlohmann::json::parse(text) : nlohmann::json::parse(text, NoMemberTwice());
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
