// SPDX-License-Identifier: Apache-2.0
// The oracle's speed as data: measured here, written by assay sweep oracle, and read again for the report.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/fast_judge/oracle_speed.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Measures the oracle on outputs of the keys (variant/dtype: on the GPU if there is one; or with @backend).
/// Throws InputError for keys, V or rows that cannot be measured. `rows` 0: as many as make 2^22 elements.
std::vector<OracleSpeed> measure_oracle_speed(const std::vector<std::string>& keys, const std::string& family,
                                              std::int64_t V, std::int64_t rows);

/// A measurement of one or two seconds, for the report's page.
OracleSpeedData quick_oracle_speed();

OracleSpeedData oracle_speed_data(const std::vector<OracleSpeed>& measured, const std::string& family,
                                  const std::vector<std::pair<std::string, std::string>>& environment);
std::string oracle_speed_json(const std::vector<OracleSpeed>& measured, const std::string& family,
                              const std::vector<std::pair<std::string, std::string>>& environment);
/// Throws InputError that names the file and what is wrong with it.
OracleSpeedData read_oracle_speed(const std::filesystem::path& file);

}  // namespace assay
