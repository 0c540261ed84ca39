// What failing cases have in common. Ten thousand failing records are one sentence if every one of them has
// V % 4 = 3 and no passing one has. Rules are looked for over the cases of all groups together: the one is
// taken that tells the failing from the passing cases in the fewest words, and what usually causes that
// pattern is named.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay::conformance {

/// Cases that went wrong for one reason, as far as can be told.
struct Finding {
  std::string group;  // the one that most of the cases are from
  std::set<Check> failed_checks;
  std::string checks;  // their names, most frequent first; or crashed, hung, inconclusive
  Status status = Status::fail;
  std::int64_t failed = 0;  // cases of that group
  std::int64_t of = 0;      // cases of that group that were judged
  bool exact = false;       // the rule holds for these cases and no passing one
  bool ruled = false;       // a rule says which cases these are, exact or not
  /// The class that the first case would pass as may be why. False where the rule tells of a place or a
  /// length that is handled wrongly, which no class of arithmetic explains.
  bool may_be_arithmetic = false;
  std::set<std::string> setups;   // of the failing cases
  std::string where;              // "every V with V % 4 = 3 (first: V = 3)"
  std::string likely;             // "the tail of a vectorised loop"; empty where the pattern names no cause
  const Record* first = nullptr;  // the smallest of them
  std::string detail;             // of the first: "row 3, column 511: got 0, exact 1.7e-3"
  /// Where the first case passes alone: the command that repeats the failure all the same.
  std::string calls_reproduce;
  std::vector<std::string> also;  // its cases of other groups: "layout (11)"
  std::vector<const Record*> cases;
};

/// The one that explains most comes first, after what a tool saw. The records must outlive the findings.
std::vector<Finding> diagnose(const std::vector<Record>& records);

}  // namespace assay::conformance
