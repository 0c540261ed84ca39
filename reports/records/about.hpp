// SPDX-License-Identifier: Apache-2.0
// about.json: what the pages of a report show and no record holds. With it and records.jsonl, `assay page`
// makes the pages again.
#pragma once

#include <filesystem>
#include <string>

#include "reports/data/report_data.hpp"

namespace assay {

inline constexpr const char* kAboutFile = "about.json";

std::string render_about(const ReportData& data);
/// Everything but the records. Throws InputError that names the file.
ReportData about_from_text(const std::string& text, const std::string& file);
ReportData read_about(const std::filesystem::path& file);

inline constexpr const char* kContractFile = "contract.json";
/// Removes the contract.json of an older check from a folder whose records were replaced by those of a run
/// that has no contracts. A file of another kind stays. Throws InputError if it cannot be removed.
void remove_old_contracts(const std::filesystem::path& folder);

}  // namespace assay
