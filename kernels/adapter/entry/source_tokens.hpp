// SPDX-License-Identifier: Apache-2.0
// C++ source as tokens with their places, so that a rewriter never looks inside a string or a comment.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace assay {

struct SourceToken {
  enum Kind { word, number, text, sign, blank, directive } kind = sign;
  std::string_view spelling;  // blank: white space, comments, spliced lines; directive: through its last line
  int line = 1;
  bool is(std::string_view s) const { return spelling == s; }
};

/// Every character of the source belongs to exactly one token. A sign is a single character, except `::`. It
/// never fails: a string or comment that is not closed runs to the end.
std::vector<SourceToken> source_tokens(std::string_view source);

}  // namespace assay
