// One verdict as one JSON line. A record is complete: what ran, on what, what came out, and the command
// that repeats it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

enum class Status { pass, fail, inconclusive, unsupported, not_run, crashed, hung };
const char* name(Status s);

/// The outcome of one named check over all judged rows of a record.
struct CheckResult {
  std::string name;            // element, coherence, row_sum, monotone, range, argmax, special, guard, ...
  std::int64_t judged = 0;     // comparisons made
  std::int64_t failed = 0;     // comparisons that proved a violation
  std::int64_t undecided = 0;  // neither proved
  double utilisation = 0;      // largest error/bound seen; 0 where the check is exact
  std::string detail;          // the first violation in words: "row 3, column 511: got 0, exact 1.7e-3"
};

/// The element with the largest ulp error (or, where something failed, the first failing element).
struct WorstElement {
  std::int64_t row = -1;
  std::int64_t column = -1;
  double logit = 0;
  double distance = 0;  // x - m
  double got = 0;
  double exact_lo = 0;
  double exact_hi = 0;
  double ulp_error = 0;    // upper end of its enclosure; infinite for NaN
  double bound_ratio = 0;  // error / bound of the element check
};

struct Record {
  std::string key;  // variant/dtype@backend
  std::string variant;
  std::string dtype;
  std::string backend;
  std::string op;
  std::string family;
  /// Of `assay check`: the group of cases (shapes, layout, ...) and what the case varies ("offset_6"). Empty,
  /// and not in the JSON, in a report.
  std::string group = {}, setup = {};
  std::int64_t rows = 0;
  std::int64_t V = 0;
  int k = 0;
  std::uint64_t seed = 0;
  Status status = Status::not_run;
  std::string reason;  // always set unless status is pass
  // Statistics over judged elements; empty where nothing was judged (then JSON null).
  std::optional<double> max_ulp, p99_ulp, mean_ulp;
  std::optional<double> correctly_rounded;  // share of elements, 0..1
  std::optional<double> max_bound_ratio;    // largest error/bound over element, coherence and row sum
  double weak_share = 0;                    // share of elements whose bound cannot judge (A >= ln 2)
  /// How small an error this judgement would have refused, of the worst row: relative, of a typical output and
  /// of one common to a whole row (or of its sum). Of logarithms: of what the logarithm was taken of.
  std::optional<double> resolution, resolution_sum;
  std::int64_t rows_judged = 0;
  std::int64_t rows_outside = 0;  // rows outside the declared domain
  std::int64_t escalated = 0;     // comparisons fp64 enclosures left undecided: MPFR decided the case
  std::string returned;           // what came back for special rows and rows outside the domain, in words
  // The class the key's probes say it behaves like; of a failed record, the nearest one it would pass.
  std::string behaves_like;
  std::vector<std::string> evidence;  // what the probes saw (family probe), one sentence each
  std::vector<CheckResult> checks;
  std::optional<WorstElement> worst;
  std::string reproduce;
};

nlohmann::json to_json(const Record& r);
/// Throws InputError naming the field that is missing or of the wrong type.
Record record_from_json(const nlohmann::json& j);

}  // namespace assay
