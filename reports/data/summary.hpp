// SPDX-License-Identifier: Apache-2.0
// The report in words: summary.md, and the last lines on the terminal.
#pragma once

#include <string>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// "PASS"; of one part of a run "PASS (part 0 of 8)".
std::string verdict_words(const RunSummary& f);

std::string render_summary_markdown(const Digest& d);

/// One table per backend, then the verdict in one line, the counts, the three worst causes, the page.
std::string render_summary_terminal(const Digest& d, const std::string& page_path);

}  // namespace assay
