// SPDX-License-Identifier: Apache-2.0
// Formulas as authors write them: the height of a sum, "V/256 + log2(256)", and a number of bytes or of
// elements, "rows * V * 4".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/claim.hpp"

namespace assay {

/// No sum of V terms is higher than V plus this: padding and merges with an identity add a few levels at
/// most.
inline constexpr std::int64_t kSpareLevels = 64;

/// The height that a text says: integers, V, + - * /, parentheses, log2, min and max, divisions and
/// logarithms rounded up. The same text has the same formula behind it. Throws InputError that begins with
/// "height: " if the text is not a formula. It tries the row lengths 1 to 4096 and those around each power of
/// two up to 2^34, and also throws if at one of them the formula divides by zero, overflows, or gives less
/// than 0 or more than V + 64.
Height height_formula(std::string_view text);

struct SizeVariables {
  std::int64_t rows = 0, V = 0, k = 0;
};

/// Empty, or one clause that says why the text gives no number of bytes for these sizes. A formula has whole
/// numbers, rows, V, k, + - * / % << >> and parentheses, with the meaning of C++. It is evaluated before it
/// is pasted into an adapter, so that one that does not compile, or divides by 0 at a size that will be used,
/// is not held against the kernel.
std::string size_formula(std::string_view text, const SizeVariables& v);

}  // namespace assay
