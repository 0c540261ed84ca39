// SPDX-License-Identifier: Apache-2.0
// A run in what the pages and the summaries show of it. The records pass by one at a time, so a digest of a
// million of them takes little memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/data/tally.hpp"

namespace assay {

struct Counts : StatusCounts {
  std::int64_t planned = 0, executed = 0;
  std::int64_t not_run_keys = 0;  // keys that cannot run here
};

class Digest {
 public:
  /// `counts`: without what failing cases have in common, which takes longer to find than to count.
  enum class Depth { all, counts };
  /// Of a run whose records are in memory. `data` must outlive the digest. What is asked of a digest can so
  /// be asked of data.
  Digest(const ReportData& data, Depth depth = Depth::counts);
  /// Of records that are given to take(), then finish(). `about` holds everything else, and must outlive the
  /// digest. `describe` says what is known of the key of a record if about.keys does not hold it.
  static Digest of_stream(const ReportData& about, std::function<KeyInfo(const Record&)> describe);

  void take(const Record& r);
  void finish();

  const ReportData& about() const { return *about_; }
  /// In the order of about().keys; then keys that only records name.
  const std::vector<KeyTally>& keys() const { return keys_; }
  /// True for records of `assay check`: their cases belong to groups.
  bool is_check() const { return check_; }

 private:
  struct Stream {};
  Digest(const ReportData& about, Stream);
  std::size_t place_of(const Record& r);

  const ReportData* about_;
  std::function<KeyInfo(const Record&)> describe_;
  std::vector<KeyTally> keys_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::size_t, std::vector<Record>> grouped_;  // records with a group, of keys under way
  std::size_t last_ = 0;                                // the key of the last record
  Depth depth_ = Depth::all;
  bool check_ = false;
};

/// What a run comes to, or some keys of it: the facts that summaries and pages put into words. They point
/// into the digest.
struct RunSummary {
  const ReportData& data;  // what is in no record
  bool check;              // of `assay check`
  std::vector<const KeyTally*> keys;
  /// The values that occur in the keys, in the usual order: cuda before host; f16, bf16, f32, f64.
  std::vector<std::string> backends, dtypes, variants;
  Counts counts;
  std::vector<Cause> causes;  // worst first: crashes and hangs, failures, undecided; then by count
  std::vector<Reason> unsupported, not_run;
  std::string resolution;  // "resolution: in every case that passed, ..."
  // Of the whole run.
  Verdict verdict;
  std::string reason = {};       // verdict_reason()
  std::string unsandboxed = {};  // not_sandboxed()

  /// Null if there is none.
  const KeyTally* find_key(const std::string& variant, const std::string& dtype,
                           const std::string& backend) const;
};
RunSummary summary_of(const Digest& d);
RunSummary summary_of(const Digest& d, std::vector<const KeyTally*> keys);

Verdict verdict_of(const Digest& d);
/// False if nothing passed, if less ran than was planned, or if any record is fail, inconclusive, crashed or
/// hung. Records outside a kernel's domain and keys that cannot run here do not make a report fail if others
/// were judged.
bool report_passed(const Digest& d);
/// "Every planned case ..." or why not: one sentence without the word PASS or FAIL.
std::string verdict_reason(const Digest& d);

}  // namespace assay
