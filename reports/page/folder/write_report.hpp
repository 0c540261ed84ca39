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

// The links between the pages of a folder. A page is written before it is known which others will lie beside
// it: a sweep may come weeks after the report. So the links are put into finished pages.

/// The text of a page with links to `names`, the pages of its folder. `self` is the page's own name, or ""
/// for a page in kernels/, whose links lead one folder up. A page that holds no place for links stays as it
/// is.
std::string with_links(std::string html, const std::vector<std::string>& names, const std::string& self);

/// Links all pages of a folder and of its kernels/ with each other; with those of a check in check/, and of
/// the folder above, if it has an index.html or a certificate.html. Throws InputError that names a file that
/// cannot be read or written.
void link_pages(const std::filesystem::path& folder);

}  // namespace assay
