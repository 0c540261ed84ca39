// SPDX-License-Identifier: Apache-2.0
#include "reference/text.hpp"

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

namespace {

constexpr std::size_t kLongestTyped = 128;  // the time grows with the product of the lengths
constexpr std::size_t kMostChanges = 2;
constexpr std::size_t kShortestStart = 4;  // "on" is the start of too many words

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_word(std::string_view typed, std::span<const std::string> words) {
  if (typed.size() > kLongestTyped) return {};
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& word : words) {
    // Each character more or fewer is a change.
    if (std::max(typed.size(), word.size()) - std::min(typed.size(), word.size()) > kMostChanges) continue;
    const std::size_t d = edit_distance(typed, word);
    if (!nearest || d < least) nearest = &word, least = d;
  }
  if (nearest && least <= std::min(kMostChanges, typed.size() / 2)) return *nearest;
  if (typed.size() >= kShortestStart)
    for (const std::string& word : words)
      if (word.starts_with(typed)) return word;
  return {};
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> words) {
  const std::string word = nearest_word(typed, words);
  return word.empty() ? "" : "; did you mean " + word + "?";
}

}  // namespace assay
