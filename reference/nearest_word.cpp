// SPDX-License-Identifier: Apache-2.0
#include "reference/nearest_word.hpp"

#include <algorithm>
#include <vector>

namespace assay {
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
