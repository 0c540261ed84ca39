// SPDX-License-Identifier: Apache-2.0
// The performance sweep as two self-contained pages: no network, no other file, light and dark. The second
// has what is large: every shape, and the hardware counters.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep_page/context.hpp"

namespace assay {

/// The text of sweep.html. A section without data says which command makes it; no figure is empty.
/// `kernel_pages` names the kernels whose page lies in kernels/ beside it: their rows link to it.
std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                       const std::vector<SplitRecord>& splits = {},
                       const std::set<std::string>& kernel_pages = {});
/// The text of sweep_shapes.html.
std::string sweep_shapes_page(const std::vector<SweepRecord>& records,
                              const std::vector<AccessRecord>& accesses);

// Writes the pages and the summary of a sweep's folder from the records in it.

/// Writes sweep.html, sweep_shapes.html and sweep.md from records_of_folder, accesses.jsonl and split.jsonl,
/// and links the pages of the folder with each other. Returns the absolute path of sweep.html. Throws
/// InputError if the folder holds no record of a sweep, or if a file cannot be read or written (it names the
/// file).
std::filesystem::path write_sweep_page(const std::filesystem::path& folder);

// The sweep in a few lines: for the head of the page, for terminals, and for sweep.md.

/// The text of sweep.md: verdict, machine, main results, the paper's claims, and the fastest right kernels.
std::string sweep_summary(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                          const std::vector<SplitRecord>& splits = {});

namespace speed {

/// The main results as sentences in plain text; empty if there are none.
std::vector<std::string> headlines(const Context& c);

}  // namespace speed

}  // namespace assay
