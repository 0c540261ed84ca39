// The accuracy report as one self-contained page: no network, no other file, light and dark.
#pragma once

#include <string>

#include "reports/data/report_data.hpp"

namespace assay {

/// The whole text of index.html. It shows summaries of the records, so it stays small with many records.
std::string render_page(const ReportData& data);

}  // namespace assay
