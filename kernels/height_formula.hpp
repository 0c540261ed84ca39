// SPDX-License-Identifier: Apache-2.0
// The height of a sum as its author writes it, such as "V/256 + log2(256)". Integers, V, + - * /,
// parentheses, log2, min and max. Divisions and logarithms are rounded up.
#pragma once

#include <string_view>

#include "kernels/claim.hpp"

namespace assay {

/// No sum of V terms is higher than V plus this: padding and merges with an identity add a few levels at
/// most.
inline constexpr std::int64_t kSpareLevels = 64;

/// The formula of a text; the same object for the same text, valid as long as the process. Throws InputError
/// that begins with "height: " if the text is not a formula. It tries the row lengths 1 to 4096 and those
/// around each power of two up to 2^34, and also throws if at one of them the formula divides by zero,
/// overflows, or gives less than 0 or more than V + 64.
const HeightFormula& height_formula(std::string_view text);

}  // namespace assay
