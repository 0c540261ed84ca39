// Counts for the page and the summaries, computed once from the records: verdicts, causes of failure, and one
// line of extremes per key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/data/report_data.hpp"

namespace assay {

struct Counts {
  std::int64_t planned = 0, executed = 0;
  std::int64_t pass = 0, fail = 0, inconclusive = 0, unsupported = 0, crashed = 0, hung = 0;
  std::int64_t not_run = 0;       // number of records
  std::int64_t not_run_keys = 0;  // keys that cannot run here
};
Counts count(const ReportData& data);

/// Records of one key that failed in the same way.
struct Cause {
  std::string key, check;  // check: the first that failed, or the status if no check failed
  Status status = Status::fail;
  std::int64_t count = 0;
  const Record* first = nullptr;
  std::string detail;  // of the first record
};
/// Worst first: crashes and hangs, failures, undecided; then by count.
std::vector<Cause> causes(const ReportData& data);

/// Records or keys with the same reason. `word` is the text before the first colon.
struct Reason {
  std::string word, example;
  std::int64_t count = 0;
};
std::vector<Reason> unsupported_reasons(const ReportData& data);
std::vector<Reason> not_run_reasons(const ReportData& data);

/// The largest value and its record; null if nothing was judged.
struct Extreme {
  double value = 0;
  const Record* record = nullptr;
  void take(double v, const Record& r);
};

struct KeyTally {
  KeyInfo info;
  std::int64_t records = 0, passed = 0, bad = 0, unsupported = 0, not_run = 0;
  Extreme bound;
  double rounded = 0, elements = 0;  // correctly rounded share: rounded / elements

  /// The largest value of a figure: `k.all(&Record::max_ulp)` over all records of the key, `real` over those
  /// of logits from real networks.
  const Extreme& all(std::optional<double> Figures::*figure) const { return of(all_, figure); }
  const Extreme& real(std::optional<double> Figures::*figure) const { return of(real_, figure); }
  void take_figures(const Record& r);

 private:
  using Extremes = std::array<Extreme, std::size(kFigures)>;
  static const Extreme& of(const Extremes& largest, std::optional<double> Figures::*figure);
  Extremes all_, real_;
};
/// One entry per key, in the order of data.keys.
std::vector<KeyTally> tally_keys(const ReportData& data);

/// True for records of `assay check`: their cases belong to groups.
bool is_check(const ReportData& data);

/// True if every pass is of the group `launches`: launches came back, and no output was judged.
bool only_launched(const ReportData& data);

/// True for families recorded from real networks: what a kernel meets in use.
bool is_real_family(std::string_view family);
/// True if the record was judged, so that its numbers count: neither unsupported nor not_run.
bool was_judged(const Record& r);

/// The values that occur in the keys, in the usual order: cuda before host; f16, bf16, f32, f64.
std::vector<std::string> backends(const ReportData& data);
std::vector<std::string> dtypes(const ReportData& data);
std::vector<std::string> variants(const ReportData& data);

/// "Every planned case ..." or why not: one sentence without the word PASS or FAIL.
std::string verdict_reason(const ReportData& data);

/// True for a pass whose resolution says something about its kernel. It does not if the output is a logarithm
/// so far from 0 that its last place is coarser than 1e-3: then no kernel can be more exact.
bool has_resolution(const Record& r);

/// The largest error that the passing records would have let through: "resolution: outputs off by more than
/// 2.4e-05, or a whole row by 3e-06, would have been refused everywhere (coarsest: normal_1, row length V =
/// 128,256)". Empty if none passed by a bound.
std::string resolution_line(const std::vector<Record>& records);

}  // namespace assay
