// SPDX-License-Identifier: Apache-2.0
// Evaluates the formula of --arg workspace_bytes before it is pasted into an adapter. So a formula that does
// not compile, or divides by 0 at a size that will be used, is reported here and not held against the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

struct SizeVariables {
  std::int64_t rows = 0, V = 0, k = 0;
};

/// Empty, or one clause that says why the text gives no number of bytes for these sizes. A formula has whole
/// numbers, rows, V, k, + - * / % << >> and parentheses, with the meaning of C++.
std::string size_formula(std::string_view text, const SizeVariables& v);

}  // namespace assay
