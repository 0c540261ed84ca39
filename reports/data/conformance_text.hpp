// The verdict of assay check in words: what failed, what the failing cases have in common, and the command
// that repeats each.
#pragma once

#include <string>
#include <vector>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Number of cases of one group by status, over one key or all keys.
struct GroupTally {
  std::string group;
  std::int64_t pass = 0, fail = 0, inconclusive = 0, unsupported = 0, not_run = 0, crashed = 0, hung = 0;
  std::string unsupported_reason = {};  // of the first unsupported case
};
std::vector<GroupTally> tally_groups(const std::vector<Record>& records);

/// True if the class of arithmetic that the first case would pass as may be the cause of the failure.
bool offers_class(const conformance::Finding& f);

/// "shapes: 1024 of 8194 cases fail (element, row_sum): every V with V % 4 = 3 (first: V = 3): likely the
/// tail of a vectorised loop".
std::string finding_line(const conformance::Finding& f);

/// "683 of 4,096 row lengths to 4,096 were tried": a quick check says this beside its verdict.
std::string lengths_tried(const std::vector<Record>& records);

/// The whole verdict; it starts with "PASS key" or "FAIL key". The records of each key are consecutive.
std::string render_check_terminal(const ReportData& data, const std::string& page_path);

}  // namespace assay
