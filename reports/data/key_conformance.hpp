// SPDX-License-Identifier: Apache-2.0
// The records of one key of a check, in what the page shows of them: the groups of cases, what failing cases
// have in common, and the failing cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "reports/data/outcome.hpp"

namespace assay {

/// Number of cases of one group by status, over one key or all keys.
struct GroupTally : StatusCounts {
  std::string group;
  std::string unsupported_reason = {};  // of the first unsupported case
};
std::vector<GroupTally> tally_groups(const std::vector<Record>& records);

/// "683 of 4,096 row lengths to 4,096 and 4 of 40 vocabularies were tried, and up to 257 rows, k to 64": a
/// quick check says this beside its verdict.
std::string lengths_tried(const std::vector<Record>& records);

struct KeyConformance {
  /// A finding of conformance::diagnose that needs no records any more.
  struct Finding {
    Status status = Status::fail;
    std::string group, checks, where, also, likely, detail;
    bool vague = false;  // as in conformance::Finding
    std::int64_t failed = 0, of = 0;
    std::string nearest;   // the class as which the first case would pass, if that may be why
    std::string declares;  // conformance::Finding::declares
    std::string reproduce;
    bool passes_alone = false;  // conformance::Finding::passes_alone
  };
  struct FailingCase : CaseShape {
    std::string op, group, family, setup, detail, reproduce;
    Status status = Status::fail;
  };
  static constexpr std::size_t kMostFindings = 40, kMostCases = 200;

  std::vector<GroupTally> groups;
  std::vector<Finding> findings;     // at most kMostFindings
  std::vector<FailingCase> failing;  // at most kMostCases
  std::int64_t failing_cases = 0;
  std::string lengths_tried;
};

/// Of the records of one key that have a group. Empty if there are none.
KeyConformance conformance_of(const std::vector<Record>& records);

}  // namespace assay
