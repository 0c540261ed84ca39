// SPDX-License-Identifier: Apache-2.0
// Compares two reports: what became more or less accurate.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

/// Reads a records.jsonl. Throws InputError that names the file and the line.
std::vector<Record> read_records(const std::filesystem::path& file);

/// In words: verdicts that changed, then the largest changes of max_ulp per key, then new and missing
/// records.
std::string compare_records(const std::vector<Record>& before, const std::vector<Record>& after);

}  // namespace assay
