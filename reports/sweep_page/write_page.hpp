// SPDX-License-Identifier: Apache-2.0
// Writes the pages and the summary of a sweep's folder from the records in it.
#pragma once

#include <filesystem>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

/// Reads sweep.jsonl and peers.jsonl of the folder, if they exist. Throws InputError that names the file.
std::vector<SweepRecord> records_of_folder(const std::filesystem::path& folder);

/// Writes sweep.html, sweep_shapes.html and sweep.md from those, accesses.jsonl and split.jsonl, and links
/// the pages of the folder with each other. Returns the absolute path of sweep.html. Throws InputError if the
/// folder holds no record of a sweep, or if a file cannot be read or written (it names the file).
std::filesystem::path write_sweep_page(const std::filesystem::path& folder);

}  // namespace assay
