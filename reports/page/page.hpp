// SPDX-License-Identifier: Apache-2.0
// The accuracy report as pages of one folder. Each page is one file that needs no other file and no network.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"
#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// What other commands left in the folder, and the pages show too.
struct InFolder {
  std::vector<SweepRecord> sweep;  // of kernels and peers: sweep.jsonl and peers.jsonl
  std::vector<AccessRecord> accesses;
};

/// Names relative to the folder, and texts: index.html at a glance, compare.html with all kernels side by
/// side, and kernels/NAME.html for each kernel. A kernel is a variant in every dtype and on every backend.
std::vector<std::pair<std::string, std::string>> render_pages(const Digest& digest,
                                                              const InFolder& in_folder = {});
std::vector<std::pair<std::string, std::string>> render_pages(const ReportData& data,
                                                              const InFolder& in_folder = {});

}  // namespace assay
