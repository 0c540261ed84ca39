// The height of a sum as its author writes it: "V/256 + log2(256)". Integers, V, + - * /, parentheses, log2,
// min and max; a division and a logarithm are rounded up.
#pragma once

#include <string_view>

#include "kernels/claim.hpp"

namespace assay {

/// No sum of V terms is higher: padding and merges with an identity add a few levels at most.
inline constexpr std::int64_t kSpareLevels = 64;

/// The formula, for as long as the process; the same object for the same text. Throws InputError that begins
/// with "height: " where the text is no formula, or where at some row length that was tried (1 to 4096,
/// around each power of two to 2^34) it divides by zero, overflows, or gives less than 0 or more than V + 64.
const HeightFormula& height_formula(std::string_view text);

}  // namespace assay
