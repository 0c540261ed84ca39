// SPDX-License-Identifier: Apache-2.0
// The report in words: summary.md, and the last lines on the terminal.
#pragma once

#include <string>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// False if nothing passed, if less ran than was planned, or if any record is fail, inconclusive, crashed or
/// hung. Records outside a kernel's domain and keys that cannot run here do not make a report fail if others
/// were judged.
bool report_passed(const Digest& d);
bool report_passed(const ReportData& data);

/// The result of a run. inconclusive: nothing went wrong, but something stayed undecided; the kernel is not
/// adopted, and not shown to be wrong. If cases of a check were lost (to load, or because a device was
/// lacking) and no other case failed, the check shows nothing about its kernel: not_run if no case ran,
/// otherwise incomplete. not_judged: nothing went wrong, but no output was judged (only_launched(), or all
/// cases lie outside of a domain or are too coarse). judged_in_part: a check in which nothing went wrong, but
/// most cases of a kernel were too coarse to be judged, or most of those that every caller has lie outside of
/// its limits. not_covered: right where it was judged, and its limits leave out a part of what --require asks
/// for.
enum class Verdict { pass, fail, inconclusive, incomplete, not_run, not_judged, judged_in_part, not_covered };
Verdict verdict_of(const Digest& d);
Verdict verdict_of(const ReportData& data);
std::string verdict_reason(const ReportData& data);
/// "PASS", "FAIL", "INCONCLUSIVE", "INCOMPLETE", "NOT RUN", "NOT JUDGED", "JUDGED IN PART", "NOT COVERED".
const char* name(Verdict verdict);
/// "PASS"; of one part of a run "PASS (part 0 of 8)".
std::string verdict_words(const Digest& d);

std::string render_summary_markdown(const Digest& d);
std::string render_summary_markdown(const ReportData& data);

/// One table per backend, then the verdict in one line, the counts, the three worst causes, the page.
std::string render_summary_terminal(const Digest& d, const std::string& page_path);
std::string render_summary_terminal(const ReportData& data, const std::string& page_path);

}  // namespace assay
