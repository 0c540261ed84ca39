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

}  // namespace assay
