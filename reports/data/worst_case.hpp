// SPDX-License-Identifier: Apache-2.0
// The line at the top of a variant's file that states its worst case:
//
//   // Worst case seen: 66.29 ulp (f32@host), normal_10, V = 128256, rows = 1, seed 1: row 0, column 63855.
//
// `assay report --key 'NAME/*'` prints this line. A test reads it from every file and runs that very input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

/// The output that is furthest from its exact value, and the case that shows it.
struct WorstCase {
  double ulp = 0;  // to four digits
  std::string dtype, backend, family;
  std::int64_t V = 0, rows = 0;  // V: row length
  Pick pick = {};
  std::uint64_t seed = 0;
  std::int64_t row = 0, column = 0;

  bool operator==(const WorstCase&) const = default;
};

/// The line of a variant that has no worst case, because its outputs are copies of its inputs.
inline constexpr std::string_view kNoWorstCase =
    "// Worst case seen: none: its outputs are logits, bit for bit.";

/// The line for this case, including the leading "// ".
std::string head_line(const WorstCase& w);

/// The worst case of one record. Empty if no output has an error in ulp, or if the record failed.
std::optional<WorstCase> worst_case_of(const Record& r);
/// The worst case of the variant and op on each backend, sorted by the backends' names.
std::vector<WorstCase> worst_cases_of(const std::vector<Record>& records, std::string_view variant,
                                      std::string_view op);

/// What the comment at the top of a source file states.
struct HeadOfFile {
  bool says_none = false;
  std::vector<WorstCase> worst;  // one per line
};
/// Throws InputError for a line that begins with "// Worst case seen:" but does not have the form above.
HeadOfFile head_of_file(std::string_view source);

}  // namespace assay
