// SPDX-License-Identifier: Apache-2.0
// The performance sweep as two self-contained pages: no network, no other file, light and dark. The second
// has what is large: every shape, and the hardware counters.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep/data/record.hpp"
#include "reports/sweep/data/split_record.hpp"

namespace assay {

/// The text of sweep.html. A section without data says which command makes it; no figure is empty.
/// `kernel_pages` names the kernels whose page lies in kernels/ beside it: their rows link to it.
std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                       const std::vector<SplitRecord>& splits = {},
                       const std::set<std::string>& kernel_pages = {});
/// The text of sweep_shapes.html.
std::string sweep_shapes_page(const std::vector<SweepRecord>& records,
                              const std::vector<AccessRecord>& accesses);

}  // namespace assay
