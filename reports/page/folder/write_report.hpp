// SPDX-License-Identifier: Apache-2.0
// Writes a report into its folder: the records, the summary and the pages.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/data/files.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Writes about.json, summary.md, the pages of render_pages and `more` (names and contents, such as
/// records.jsonl), removes the pages of kernels that are not in this report and the contract.json of an older
/// check where `more` has records and no contract.json, and links all pages of the folder. Shows sweep.jsonl,
/// peers.jsonl and accesses.jsonl of the folder, if they are there. Throws InputError that names a file that
/// cannot be read or written.
void write_report(const std::filesystem::path& folder, const ReportData& data,
                  const std::vector<std::pair<std::string, FileContent>>& more);

/// The same without about.json. `files`: further files to be written with the pages.
void write_pages(const std::filesystem::path& folder, const Digest& digest, Files files = {});

}  // namespace assay
