// SPDX-License-Identifier: Apache-2.0
// Lists of words: what is in one, and what a mistyped word may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay {

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

}  // namespace assay
