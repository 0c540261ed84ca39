// SPDX-License-Identifier: Apache-2.0
// Text for the renderers: escaping and numbers. An absent number is shown as a dash, never as "nan".
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem.hpp"

namespace assay {

/// & < > " ' become entities; control characters other than line breaks and tabs become '?'.
std::string escape(std::string_view text);
/// For table cells and list items of Markdown: no character may end the cell, start markup, or break the
/// line.
std::string markdown(std::string_view text);
/// The same between back quotes, where only the quote itself, the bar of a table and line breaks are special.
std::string markdown_code(std::string_view text);
/// At most `limit` bytes of text, cut between UTF-8 characters, with "..." at the cut.
std::string shorten(std::string_view text, std::size_t limit);

/// Three significant digits as plain ASCII: "0", "0.503", "1,230", "4.2e-7", "inf"; "-" for NaN.
std::string plain_number(double v);
/// The same for HTML: NaN and absent values become an en dash.
std::string number(double v);
std::string number(std::optional<double> v);
/// 1234567 as "1,234,567".
std::string grouped(std::int64_t v);
/// A share in [0, 1] as a percentage. It says 100% only if the share is exactly 1.
std::string plain_percent(double share);
std::string hexfloat(double v);

inline constexpr const char* kDash = "&ndash;";

/// The numbers of all these cases, joined: the columns of a table. `op_of` gives the name of a case's op.
template <class Cases, class OpOf>
std::vector<SizeInfo> sizes_of_all(const Cases& cases, OpOf op_of) {
  std::vector<SizeInfo> all;
  for (const auto& one : cases)
    for (const SizeInfo& s : sizes_of(op_of(one)))
      if (s.in_use && std::none_of(all.begin(), all.end(), [&](const SizeInfo& known) {
            return std::string_view(known.name) == s.name;
          }))
        all.push_back(s);
  return all;
}
/// What stands in such columns: the text, and the number by which a table is sorted. A dash where the op has
/// no such number.
struct SizeCell {
  std::string text = kDash, sort = {};
};
std::vector<SizeCell> cells_of(const std::vector<SizeInfo>& columns, std::string_view op,
                               const CaseShape& shape);
/// Their texts alone.
std::vector<std::string> texts_of(const std::vector<SizeInfo>& columns, std::string_view op,
                                  const CaseShape& shape);

}  // namespace assay
