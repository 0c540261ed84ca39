// The oracle's speed as a file: written by assay sweep oracle, shown on the report's page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "accuracy/oracle_speed.hpp"

namespace assay {

/// One line of the file, as the page shows it.
struct OracleSpeedRow {
  std::string key, tier, where;
  std::int64_t rows = 0, V = 0;
  double elements_per_second = 0, escalated = 0;
  std::int64_t failed = 0;
};
struct OracleSpeedFile {
  std::string family;
  std::string machine;  // GPU, or CPU where there is none
  std::vector<OracleSpeedRow> rows;
};

std::string oracle_speed_json(const std::vector<OracleSpeed>& measured, const std::string& family,
                              const std::vector<std::pair<std::string, std::string>>& environment);
/// Throws InputError naming the file and what is wrong with it.
OracleSpeedFile read_oracle_speed(const std::string& path);

}  // namespace assay
