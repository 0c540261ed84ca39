// The performance sweep as one self-contained page: no network, no file beside it, light and dark.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// sweep.html, whole. Sections without data say which command makes it; none draws an empty figure.
std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses);

}  // namespace assay
