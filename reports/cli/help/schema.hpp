// The JSON Schema of records.jsonl.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// A change that a reader of older files would stumble over gives the next number.
inline constexpr int kRecordsVersion = 1;

/// Of one line. reports/data/records.schema.json holds it; assay schema prints it.
nlohmann::json records_schema();

}  // namespace assay
