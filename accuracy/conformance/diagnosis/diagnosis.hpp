// SPDX-License-Identifier: Apache-2.0
// What failing cases have in common. If every one of ten thousand failing records has V % 4 = 3 and no
// passing one has (V is the row length), one sentence says it. Rules are searched over the cases of all
// groups together. The rule is chosen that separates failing from passing cases in the fewest words. Then the
// usual cause of that pattern is named.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay::conformance {

/// Failing cases that have one cause, as far as can be told.
struct Finding {
  std::string group;  // the group that has most of the cases
  std::set<Check> failed_checks;
  std::string checks;  // their names, most frequent first; or crashed, hung, inconclusive
  Status status = Status::fail;
  std::int64_t failed = 0;  // cases of that group
  std::int64_t of = 0;      // cases of that group that were judged
  bool exact = false;       // the rule holds for these cases and for no passing one
  bool ruled = false;       // a rule says which cases these are, exact or not
  /// True if `where` says only where most of the cases are. Then a likely cause tells more, and is said
  /// first.
  bool vague = false;
  /// True if the class as which the first case would pass may be the reason. False if the rule is about a
  /// place or a length that is handled wrongly, because no class of arithmetic explains that.
  bool may_be_arithmetic = false;
  std::set<Setup> setups;  // of the failing cases
  std::string where;       // "every V with V % 4 = 3 (first: V = 3)"
  std::string likely;      // "the tail of a vectorised loop"; empty if the pattern suggests no cause
  /// The cause that rows of equal logits tell by their sum (lost_terms.hpp); empty if they tell none.
  std::string lost_terms;
  /// For rows beyond a length that all fail: what its author may declare if that is its limit. Else empty.
  std::string declares;
  const Record* first = nullptr;  // the smallest of them
  std::string detail;             // of the first: "row 3, column 511: got 0, exact 1.7e-3"
  bool passes_alone = false;      // the first case does: only a sequence of calls repeats the failure
  std::vector<std::string> also;  // its cases in other groups: "layout (11)"
  std::vector<const Record*> cases;
};

/// The findings. What a tool saw comes first, then the finding that explains most. The records must outlive
/// the findings.
std::vector<Finding> diagnose(const std::vector<Record>& records);

}  // namespace assay::conformance
