// SPDX-License-Identifier: Apache-2.0
// What the pages and the summaries need of the records of one key, counted as the records pass by. A tally is
// small: of single records it keeps only the most telling ones.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/data/key_conformance.hpp"
#include "reports/data/outcome.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Records of one key that failed in the same way.
struct Cause {
  std::string key, check;  // check: the first that failed, or the status if no check failed
  Status status = Status::fail;
  std::int64_t count = 0;
  // Of the first record.
  std::string family, detail, reproduce;
  std::int64_t V = 0;
};

/// Records or keys with the same reason. `word` is the text before the first colon.
struct Reason {
  Why why = Why::none;  // of cases that were not judged
  std::string word, example;
  std::int64_t count = 0;
};
/// Adds it to those with the same word.
void add_reason(std::vector<Reason>& reasons, const Reason& one);

/// The largest value, and where it was found.
struct Extreme {
  double value = 0;
  std::string_view key, family;  // they live as long as the program
  std::int64_t V = 0;

  bool any() const { return !key.empty(); }
  double shown() const { return any() ? value : NAN; }
  void take(double v, const Record& r);
  void take(const Extreme& other);
};

/// The coarsest resolution, and what a whole row of the same record may be off by.
struct CoarsestResolution : Extreme {
  double row = 0;
  void take_resolution(const Record& r);
};
/// What passes exclude.
struct PassResolution {
  CoarsestResolution coarsest;
  double row = 0;        // the smallest factor that is certainly refused: the largest of them
  std::int64_t far = 0;  // passes that has_resolution() leaves out
  // Passes of logarithms of which only an error larger than 1e-3 shows in a whole row, because their last
  // place is so coarse. They are not in `row`.
  std::int64_t rounded_off = 0;
  void take(const Record& r);
  void take(const PassResolution& other);
  /// "resolution: in every case that passed, ..."; "" if no pass has a resolution.
  std::string line() const;
};
/// Row lengths are put together up to these.
inline constexpr std::array<std::int64_t, 4> kLengthSteps = {128, 1025, 4099, 32000};

/// A record whose worst element is shown.
struct WorstRecord {
  std::string_view key, family;
  std::int64_t V = 0;
  std::optional<double> max_bound_ratio, excess;
  WorstElement element;
  std::string reproduce;
};
/// The largest values, at most one per family and at most kMost.
class WorstList {
 public:
  static constexpr std::size_t kMost = 25;
  void take(double value, const Record& r);
  /// Largest first.
  std::vector<std::pair<double, const WorstRecord*>> sorted() const;

 private:
  std::map<std::string_view, std::pair<double, WorstRecord>> by_family_;
};
/// An element with a smaller error is rounded correctly, or so nearly that its three digits say so. Such
/// elements are not listed among the worst.
inline constexpr double kRounded = 0.5005;

/// The checks that compare an error with a derived bound.
inline constexpr const char* kBoundChecks[] = {"element", "coherence", "row_sum", "normalizer"};
struct CheckExtreme {
  Extreme largest;
  std::int64_t judged = 0;  // number of comparisons
};

/// A check that finds no limit judges more different row lengths than this.
inline constexpr std::int64_t kFewestLengths = 3;

/// What of a check was judged. The core is what every caller relies on (CONTRACT.md): rows of finite logits
/// of ordinary size, some of them masked, where an allocator places them.
struct JudgedCounts {
  std::int64_t rows = 0;                   // in cases that passed
  std::int64_t core = 0, core_beyond = 0;  // cases of the core; those of them beyond the kernel's limits
  std::set<std::int64_t> lengths;          // of rows in cases that were judged, or too coarse for it
  std::int64_t most_rows = 0;
  void take(const Record& r);
  /// Empty, or why what was judged does not fit the limits: they allow all lengths, and one was judged.
  std::string misfit(const Limits& limits) const;
  /// Less than half of the core's cases were judged, because the kernel's limits leave them out.
  bool little_of_core() const { return 2 * core_beyond > core; }
};

/// Of rows that are drawn as so many right ones were, at most this share is wrong, at 95 % (the rule of
/// three).
double most_wrong(std::int64_t rows);
/// "rows: 104,817 were judged, and all are right: of rows like these at most 2.9e-05 are wrong (3/N, at 95
/// %)"; empty for no row.
std::string rows_line(std::int64_t rows);

/// The records of one key on one family.
struct FamilyTally {
  std::int64_t records = 0, passed = 0;  // without not_run ones
  Extreme excess, bound, ulp;            // excess: the largest excess_ratio
  /// What came back for special rows, without counts: "NaN, 0".
  std::set<std::pair<Status, std::string>> said;
};

/// Records of one family whose rows lie outside the domain for one reason.
struct OutsideTally {
  std::set<std::int64_t> sizes;
  std::int64_t records = 0, rows = 0, outside = 0;
  Status status = Status::pass;  // of the record that `reason` and `returned` are of
  std::string reason, returned;
};

struct KeyTally {
  KeyInfo info;
  StatusCounts status;
  std::int64_t launches_passed = 0;  // passes of the group `launches`, which judges no outputs
  std::int64_t empty_passed = 0;     // passes of launches without an element
  std::int64_t escalated = 0;
  std::uint64_t seed = 0;   // of its last record
  std::int64_t coarse = 0;  // too_coarse() records
  JudgedCounts judged;      // rows, and cases of the core
  std::vector<Cause> causes;
  std::vector<Reason> unsupported;
  PassResolution passes;
  KeyConformance conformance;

  // From here on, of a check only the group `families` counts: thousands of its cases only ask whether a
  // shape works.
  Extreme bound;
  Extreme ordinary, ordinary_p99;    // max_ulp and p99_ulp on ordinary rows
  Extreme excess;                    // the largest excess_ratio
  double rounded = 0, elements = 0;  // correctly rounded share: rounded / elements
  std::map<std::string, FamilyTally> families;
  struct AtSize {
    Extreme bound, ulp;  // finite values
  };
  std::map<std::int64_t, AtSize> sizes;  // by V
  std::array<CoarsestResolution, kLengthSteps.size() + 1> resolution;
  std::array<CheckExtreme, std::size(kBoundChecks)> checks;
  std::map<std::pair<std::string, std::string>, OutsideTally> outside;  // by family, word of the reason
  std::vector<Record> probes;
  WorstList worst_excess, worst_ulp;
  std::int64_t rounded_records = 0;  // whose worst element is not listed: kRounded
  std::optional<std::pair<double, WorstRecord>> worst_bound;

  /// The largest value of a figure: `k.all(&Record::max_ulp)` over all records of the key, `real` over those
  /// of logits from real networks.
  const Extreme& all(std::optional<double> Figures::*figure) const { return of(all_, figure); }
  const Extreme& real(std::optional<double> Figures::*figure) const { return of(real_, figure); }

  void take(const Record& r);

  std::int64_t records() const { return status.total(); }
  std::int64_t passed() const { return status[Status::pass]; }
  std::int64_t bad() const { return status.bad(); }
  bool ran() const { return records() > status[Status::not_run]; }
  /// Most cases were too coarse to be judged, so the passes say little: they are of the easiest rows.
  bool barely_judged() const { return bad() == 0 && coarse > passed(); }
  /// No output was compared: launches came back, or had no element, where those with some were too coarse.
  bool only_came_back() const { return passed() == launches_passed + (coarse > 0 ? empty_passed : 0); }
  /// Every record is a pass, or outside what the kernel promises.
  bool right() const { return status[Status::pass] + status[Status::unsupported] == records(); }

 private:
  void take_accuracy(const Record& r);
  void take_figures(const Record& r);
  void take_outside(const Record& r);
  using Extremes = std::array<Extreme, std::size(kFigures)>;
  static const Extreme& of(const Extremes& largest, std::optional<double> Figures::*figure);
  Extremes all_, real_;
};

/// True for families recorded from real networks: what a kernel meets in use.
bool is_real_family(std::string_view family);
/// True for families whose rows look like those of use: real networks and N(0, 1). A family that this
/// program does not know holds a user's own rows.
bool is_ordinary_family(std::string_view family);
/// error/bound of single elements without the last rounding. Half an ulp is what rounding the output may cost
/// any kernel, so it is left out of the error and of the bound: (error - 1/2 ulp) / (bound - 1/2 ulp) of the
/// element with the largest ulp error. Elements of 16-bit outputs are judged by what rounds to them
/// (VERDICT.md, section 2), so their check `element` already holds this ratio. Empty where no element was
/// judged.
std::optional<double> excess_ratio(const Record& r);
/// True if the record was judged, so that its numbers count: neither unsupported nor not_run.
bool was_judged(const Record& r);

/// True of a launch without an element, so that only its coming back and its guards are judged.
bool is_empty(const Record& r);

/// True for a pass whose resolution says something about its kernel. It does not if the output is a logarithm
/// so far from 0 that its last place is coarser than 1e-3: then no kernel can be more exact.
bool has_resolution(const Record& r);
std::string resolution_line(const std::vector<Record>& records);

}  // namespace assay
