// The report in words: summary.md for people who read files, and the last lines of the terminal.
#pragma once

#include <string>

#include "reports/data/report_data.hpp"

namespace assay {

/// False where nothing passed, less ran than was planned, or any record is fail, inconclusive, crashed or
/// hung. Records outside a kernel's domain and keys that cannot run here do not fail a report that judged
/// others.
bool report_passed(const ReportData& data);

/// What a run shows. Where nothing went wrong but something stayed undecided it is inconclusive: such a kernel is not
/// adopted, and not shown to be wrong. A check of which cases were lost, to load or for want of a device, shows nothing of its
/// kernel unless another case failed: not_run where none ran, else incomplete.
enum class Verdict { pass, fail, inconclusive, incomplete, not_run };
Verdict verdict_of(const ReportData& data);
/// "PASS", "FAIL", "INCONCLUSIVE", "INCOMPLETE", "NOT RUN".
const char* name(Verdict verdict);

std::string render_summary_markdown(const ReportData& data);

/// A table per backend, then the verdict in one line, the counts, the three worst causes, the page.
std::string render_summary_terminal(const ReportData& data, const std::string& page_path);

}  // namespace assay
