// SPDX-License-Identifier: Apache-2.0
// The lines of records.jsonl. The first record of a file also says, in its field "run", by which program,
// where and when the file was made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/record.hpp"
#include "reports/data/files.hpp"

namespace assay {

/// A change that a reader of older files would stumble over gives the next number.
inline constexpr int kRecordsVersion = 1;

/// Labels and values, as environment() says them.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// The whole file, written record by record. The records must outlive it.
FileContent lines_of(const std::vector<Record>& records, const RunFacts& environment);

/// The whole file, from lines of record_line.
std::string with_run(const std::string& lines, const RunFacts& environment);

/// The line of a record as any but the first has it. A line without "run" comes back as it is.
std::string without_run(const std::string& line);

/// The JSON Schema of one line. reports/data/records.schema.json holds it; assay schema prints it.
nlohmann::json records_schema();

}  // namespace assay
