// The accuracy report as one self-contained page: no network, no file beside it, light and dark.
#pragma once

#include <string>

#include "reports/data/report_data.hpp"

namespace assay {

/// index.html, whole. Records are aggregated, so that the page stays small however many there are.
std::string render_page(const ReportData& data);

}  // namespace assay
