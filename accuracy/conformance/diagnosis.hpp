// What failing cases have in common. Ten thousand failing records are one sentence if every one of them has
// V % 4 = 3 and no passing one has: the simplest predicate that separates failing from passing cases is
// looked for, and what usually causes that pattern is named.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay::conformance {

/// Evidence of a failing record: what it gives as the only case, or call, of a process.
inline constexpr const char* kPassesAlone = "alone, in a fresh process, it passes";
inline constexpr const char* kFailsAlone = "alone, in a fresh process, it fails as well";

/// Cases of one group that went wrong alike.
struct Finding {
  std::string group;
  std::string checks;  // the checks that failed, most frequent first; or crashed, hung, inconclusive
  Status status = Status::fail;
  std::int64_t failed = 0;  // cases
  std::int64_t of = 0;      // cases of the group that were judged
  /// 3: what a tool saw; 2: the rule holds for these cases and no other; 1: for these and some that passed;
  /// 0: no rule.
  int clarity = 0;
  std::set<std::string> setups;   // of the failing cases
  std::string where;              // "every V with V % 4 = 3 (first: V = 3)"
  std::string likely;             // "the tail of a vectorised loop"; empty where the pattern names no cause
  const Record* first = nullptr;  // the smallest of them
  std::string detail;             // of the first: "row 3, column 511: got 0, exact 1.7e-3"
  /// Where the first case passes alone: the command that repeats the failure all the same.
  std::string calls_reproduce;
  /// Findings of other groups whose cases all obey this one's rule: "layout (11)".
  std::vector<std::string> also;
  std::vector<const Record*> cases;
  std::function<bool(const Record&)> rule;  // about the row length, where (nearly) every case obeys one
};

/// Clearest first, then by the number of cases. The records must outlive the findings.
std::vector<Finding> diagnose(const std::vector<Record>& records);

}  // namespace assay::conformance
