// The formula of --arg workspace_bytes, evaluated before it is pasted into an adapter: what no compiler
// takes, or what divides by 0 at a size that will be asked for, is said here and not held against the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

struct SizeVariables {
  std::int64_t rows = 0, V = 0, k = 0;
};

/// Empty, or in one clause why the text is no number of bytes for these: whole numbers, rows, V, k, + - * / %
/// << >> and parentheses, as C++ reads them.
std::string size_formula(std::string_view text, const SizeVariables& v);

}  // namespace assay
