// The text of records.jsonl: one record a line. The first one also says by what, on what and when all of them
// were made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

/// Of records and of their schema. A change that a reader of older files would stumble over gives the next
/// number.
inline constexpr int kRecordsVersion = 1;

/// One record as a line of its own.
std::string record_line(const Record& r);

/// `environment`: as ReportData has it.
std::string record_lines(const std::vector<Record>& records,
                         const std::vector<std::pair<std::string, std::string>>& environment);

/// The JSON Schema of one line. reports/data/records.schema.json holds it; assay schema prints it.
nlohmann::json records_schema();

}  // namespace assay
