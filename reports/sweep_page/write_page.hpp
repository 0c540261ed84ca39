// The page and the summary of a sweep's folder, from the records that lie in it.
#pragma once

#include <filesystem>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay {

/// sweep.jsonl and peers.jsonl of the folder, what is there of them. Throws InputError naming the file.
std::vector<SweepRecord> records_of_folder(const std::filesystem::path& folder);

/// Writes sweep.html and sweep.md from those and accesses.jsonl; returns the page's absolute path. Throws
/// InputError where the folder holds no record of a sweep, or naming the file that can not be read or
/// written.
std::filesystem::path write_sweep_page(const std::filesystem::path& folder);

}  // namespace assay
