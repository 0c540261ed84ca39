// SPDX-License-Identifier: Apache-2.0
// Several reports, oldest first: how accurate and how fast each key was in each of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

/// One key in one report. Empty where the report did not measure it.
struct HistoryPoint {
  std::optional<double> ulp;        // the largest on ordinary rows
  std::optional<double> excess;     // error/bound without the last rounding
  std::optional<double> share;      // of the copy: the median over row lengths of at least 1,000
  std::optional<std::int64_t> bad;  // records that must not be
  std::uint64_t seed = 0;           // of its inputs
};

struct HistoryRun {
  std::string folder, commit, machine;
  bool quick = false;     // a quick report, or a quick check
  std::string page = {};  // its index.html, as a URL relative to the history's page; empty if it has none
  std::map<std::string, HistoryPoint> keys;
};

/// `environment`: of the report; commit and machine are taken from it, or else from the sweep.
HistoryRun history_run(const std::string& folder, const Digest* digest,
                       const std::vector<SweepRecord>& sweep);

/// What is worse in the last report than in the last one before it that measured the same.
struct HistoryChange {
  std::string key, figure, before_run;
  double before = 0, after = 0;
  bool worse = false;
};
struct HistoryChanges {
  std::vector<HistoryChange> changes;  // the worse ones first
  std::int64_t compared = 0;           // figures that the last report and one before it measured
};
/// A larger error by more than 1 %, or a lower share of the copy by more than 5 %, is a change; so is the
/// opposite, and any other number of bad records. Of inputs with another seed, an error may differ by 10 %.
/// An error that changes by less than 0.01 (ULP, or shares of the bound) is never a change. Shares are
/// compared with those of the same machine, and errors with those of quick reports, or of whole ones: a whole
/// report meets rows that a quick one leaves out.
HistoryChanges last_changes(const std::vector<HistoryRun>& runs);

/// `left_out`: folders that could not be read, each with the reason.
std::string render_history_page(const std::vector<HistoryRun>& runs,
                                const std::vector<std::string>& left_out = {});

}  // namespace assay
