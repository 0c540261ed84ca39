// SPDX-License-Identifier: Apache-2.0
// What a mistyped word may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// Number of single-character changes that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `words` that `typed` probably meant; empty if none is near. A word that begins with all of
/// `typed` counts as near: "online_block/f32" means "online_block/f32@host".
std::string nearest_word(std::string_view typed, std::span<const std::string> words);

/// "; did you mean normal_1?", for the end of an error message. Empty if no word is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string> words);

}  // namespace assay
